// The scalar level: an element is a float. Slow, obvious, the oracle of the other levels.
#pragma once

#include "tile/element.h"
#include "tile/float8.h"

WF_NAMESPACE_BEGIN(tile)

using Vec = float;
using IVec = i32;
using Mask = bool;
inline constexpr int vec_width = 1;

WF_DEVICE Vec load_f16(const void* p) {
  u16 h;
  __builtin_memcpy(&h, p, 2);
  const u32 sign = (h & 0x8000u) << 16;
  const u32 magnitude = h & 0x7fffu;
  if (magnitude < 0x400u) {  // subnormal: magnitude * 2^-24
    return from_bits(to_bits(static_cast<float>(magnitude) * power_of_two(-24)) | sign);
  }
  if (magnitude >= 0x7c00u) return from_bits(sign | 0x7f800000u | (magnitude << 13));
  return from_bits(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}

WF_DEVICE Vec load_bf16(const void* p) {
  u16 h;
  __builtin_memcpy(&h, p, 2);
  return from_bits(static_cast<i32>(static_cast<u32>(h) << 16));
}

template <DType dtype>
WF_DEVICE Vec load_float8(const void* p) {
  return decode_float8<Vec, dtype>(*static_cast<const u8*>(p));
}

WF_DEVICE u16 round_to_f16(float a) {
  const u32 bits = static_cast<u32>(to_bits(a));
  const u32 sign = (bits >> 16) & 0x8000u;
  const u32 magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<u16>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  if (magnitude >= 0x47800000u) return static_cast<u16>(sign | 0x7c00u);  // 65536 and above
  if (magnitude < 0x38800000u) {  // below 2^-14: the unit is 2^-24
    const float scaled = from_bits(static_cast<i32>(magnitude)) * power_of_two(24);
    return static_cast<u16>(sign | static_cast<u32>(round_to_int(scaled)));
  }
  const u32 rebased = magnitude - ((127u - 15u) << 23);
  return static_cast<u16>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
}

WF_DEVICE u16 round_to_bf16(float a) {
  const u32 bits = static_cast<u32>(to_bits(a));
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<u16>((bits >> 16) | 0x40u);
  return static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

WF_DEVICE void store_f16(void* p, Vec a) {
  const u16 h = round_to_f16(a);
  __builtin_memcpy(p, &h, 2);
}

WF_DEVICE void store_bf16(void* p, Vec a) {
  const u16 h = round_to_bf16(a);
  __builtin_memcpy(p, &h, 2);
}

WF_DEVICE IVec load_words(const void* p) {
  i32 word;
  __builtin_memcpy(&word, p, 4);
  return word;
}

/// Two vectors of neighbours to their even and their odd elements, and back.
WF_DEVICE void deinterleave(Vec&, Vec&) {}
WF_DEVICE void interleave(Vec&, Vec&) {}

// Stores past the caches: plain ones here.
WF_DEVICE void stream_f32(void* p, Vec a) { __builtin_memcpy(p, &a, 4); }
WF_DEVICE void stream_f16(void* p, Vec a) { store_f16(p, a); }
WF_DEVICE void stream_bf16(void* p, Vec a) { store_bf16(p, a); }
WF_DEVICE void stream_fence() {}

// Sums in double precision.
using Wide = double;
struct WideSum {
  double sum;
};
WF_DEVICE Wide widen(Vec a) { return double{a}; }
WF_DEVICE void add(WideSum& sum, Wide a) { sum.sum += a; }
WF_DEVICE void add(WideSum& sum, Wide a, Mask keep) { sum.sum += keep ? a : 0; }
WF_DEVICE double total(WideSum sum) { return sum.sum; }

/// Writes the lanes of `keep` one after the other and returns how many.
WF_DEVICE int compress_store(float* to, Vec a, Mask keep) {
  if (keep) *to = a;
  return keep ? 1 : 0;
}

/// Transposes a square block held in `vec_width` vectors.
WF_DEVICE void transpose(Vec (&)[1]) {}

/// Lane i of the result is the sum over the lanes of a[i].
WF_DEVICE Vec reduce_add_each(const Vec (&a)[1]) { return a[0]; }

/// Lane i of the mask is bit i.
WF_DEVICE Mask lanes_from_bits(u32 bits) { return (bits & 1) != 0; }

WF_NAMESPACE_END
