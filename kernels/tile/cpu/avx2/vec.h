// The AVX2 level (with FMA and F16C): an element is eight floats.
#pragma once

#include <immintrin.h>

#include "tile/cpu/operators.h"
#include "tile/element.h"
#include "tile/float8.h"

WF_NAMESPACE_BEGIN(tile)

struct Vec {
  using Lane = float;
  __m256 v;
};
struct IVec {
  using Lane = i32;
  using Unsigned = u32 __attribute__((vector_size(32)));
  i32 __attribute__((vector_size(32))) v;
};
struct Mask {  // all ones or all zeros in every lane
  __m256i v;
};
inline constexpr int vec_width = 8;

WF_DEVICE __m256i raw(IVec a) { return reinterpret_cast<__m256i>(a.v); }
WF_DEVICE IVec ints(__m256i a) { return {reinterpret_cast<decltype(IVec::v)>(a)}; }
WF_DEVICE __m256 raw(Mask a) { return _mm256_castsi256_ps(a.v); }
WF_DEVICE Mask mask(__m256 a) { return {_mm256_castps_si256(a)}; }

WF_DEVICE Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
// The second operand wins when one of them is NaN, as in the scalar forms.
WF_DEVICE Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
WF_DEVICE Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
WF_DEVICE Vec abs(Vec a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.f), a.v)}; }
/// 1 / a to 14 bits or better: rcpps alone has 12.
WF_DEVICE Vec reciprocal_short(Vec a) { return {_mm256_div_ps(_mm256_set1_ps(1.f), a.v)}; }
WF_DEVICE Vec sqrt(Vec a) { return {_mm256_sqrt_ps(a.v)}; }
WF_DEVICE IVec min(IVec a, IVec b) { return ints(_mm256_min_epi32(raw(a), raw(b))); }
WF_DEVICE IVec max(IVec a, IVec b) { return ints(_mm256_max_epi32(raw(a), raw(b))); }

WF_DEVICE Mask less(Vec a, Vec b) { return mask(_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)); }
WF_DEVICE Mask less_equal(Vec a, Vec b) { return mask(_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)); }
WF_DEVICE Mask equal(Vec a, Vec b) { return mask(_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)); }
WF_DEVICE Mask less(IVec a, IVec b) { return {_mm256_cmpgt_epi32(raw(b), raw(a))}; }
WF_DEVICE Mask negate(Mask a) { return {_mm256_xor_si256(a.v, _mm256_set1_epi32(-1))}; }
WF_DEVICE Mask less_equal(IVec a, IVec b) { return negate(less(b, a)); }
WF_DEVICE Mask equal(IVec a, IVec b) { return {_mm256_cmpeq_epi32(raw(a), raw(b))}; }
WF_DEVICE Mask both(Mask a, Mask b) { return {_mm256_and_si256(a.v, b.v)}; }
WF_DEVICE Mask either(Mask a, Mask b) { return {_mm256_or_si256(a.v, b.v)}; }
WF_DEVICE bool any(Mask a) { return _mm256_movemask_ps(raw(a)) != 0; }
WF_DEVICE bool all(Mask a) { return _mm256_movemask_ps(raw(a)) == 0xff; }
WF_DEVICE Vec select(Mask keep, Vec a, Vec b) { return {_mm256_blendv_ps(b.v, a.v, raw(keep))}; }
WF_DEVICE IVec select(Mask keep, IVec a, IVec b) {
  return ints(_mm256_blendv_epi8(raw(b), raw(a), keep.v));
}

WF_DEVICE IVec round_to_int(Vec a) { return ints(_mm256_cvtps_epi32(a.v)); }
WF_DEVICE Vec to_float(IVec a) { return {_mm256_cvtepi32_ps(raw(a))}; }
WF_DEVICE IVec to_bits(Vec a) { return ints(_mm256_castps_si256(a.v)); }
WF_DEVICE Vec from_bits(IVec a) { return {_mm256_castsi256_ps(raw(a))}; }
WF_DEVICE IVec shift_right_logical(IVec a, int count) {
  return ints(_mm256_srli_epi32(raw(a), count));
}

WF_DEVICE Vec swap_pairs(Vec a) { return {_mm256_permute_ps(a.v, 0xb1)}; }

WF_DEVICE float reduce_add(Vec a) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
WF_DEVICE float reduce_max(Vec a) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}
WF_DEVICE float reduce_min(Vec a) { return -reduce_max(-a); }

template <>
struct ElementTraits<Vec> {
  static constexpr int width = vec_width;
  using Int = IVec;
  using Mask = tile::Mask;
  WF_DEVICE static Vec splat(float a) { return {_mm256_set1_ps(a)}; }
  WF_DEVICE static IVec splat_int(i32 a) { return ints(_mm256_set1_epi32(a)); }
  WF_DEVICE static IVec iota() { return ints(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
  WF_DEVICE static Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
  WF_DEVICE static void store(float* p, Vec a) { _mm256_storeu_ps(p, a.v); }
};

WF_DEVICE Vec load_f16(const void* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)))};
}
WF_DEVICE Vec load_bf16(const void* p) {
  const __m128i h = _mm_loadu_si128(static_cast<const __m128i*>(p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16))};
}
template <DType dtype>
WF_DEVICE Vec load_float8(const void* p) {
  const __m128i b = _mm_loadl_epi64(static_cast<const __m128i*>(p));
  return decode_float8<Vec, dtype>(ints(_mm256_cvtepu8_epi32(b)));
}

WF_DEVICE void store_f16(void* p, Vec a) {
  _mm_storeu_si128(static_cast<__m128i*>(p),
                   _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/// Eight bf16, nearest even, NaN stays NaN, each in the low half of its lane.
WF_DEVICE IVec round_to_bf16(Vec a) {
  const IVec bits = to_bits(a);
  const IVec upper = shift_right_logical(bits, 16);
  const IVec rounded = shift_right_logical(bits + 0x7fff + (upper & 1), 16);
  return select(equal(a, a), rounded, upper | 0x40);
}
WF_DEVICE __m128i pack_bf16(Vec a) {
  const __m256i h = raw(round_to_bf16(a));
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(h, h), 0x08));
}
WF_DEVICE void store_bf16(void* p, Vec a) {
  _mm_storeu_si128(static_cast<__m128i*>(p), pack_bf16(a));
}

// Stores past the caches, for results too large to stay there. `p` lies at a multiple of what is
// stored; stream_fence() orders them before what follows.
WF_DEVICE void stream_f32(void* p, Vec a) { _mm256_stream_ps(static_cast<float*>(p), a.v); }
WF_DEVICE void stream_f16(void* p, Vec a) {
  _mm_stream_si128(static_cast<__m128i*>(p),
                   _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
WF_DEVICE void stream_bf16(void* p, Vec a) {
  _mm_stream_si128(static_cast<__m128i*>(p), pack_bf16(a));
}
WF_DEVICE void stream_fence() { _mm_sfence(); }

// Sums in double precision.
struct Wide {
  __m256d low, high;
};
struct WideSum {
  __m256d low, high;
};
WF_DEVICE Wide widen(Vec a) {
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(a.v)),
          _mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1))};
}
WF_DEVICE void add(WideSum& sum, Wide a) {
  sum.low = _mm256_add_pd(sum.low, a.low);
  sum.high = _mm256_add_pd(sum.high, a.high);
}
/// Adds the lanes of `keep`.
WF_DEVICE void add(WideSum& sum, Wide a, Mask keep) {
  const auto of = [](__m128i half) { return _mm256_castsi256_pd(_mm256_cvtepi32_epi64(half)); };
  const __m256d low = of(_mm256_castsi256_si128(keep.v));
  const __m256d high = of(_mm256_extracti128_si256(keep.v, 1));
  add(sum, {_mm256_and_pd(a.low, low), _mm256_and_pd(a.high, high)});
}
WF_DEVICE double total(WideSum sum) {
  double lanes[4];
  _mm256_storeu_pd(lanes, _mm256_add_pd(sum.low, sum.high));
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

/// Writes the lanes of `keep` one after the other and returns how many; up to a whole element is
/// overwritten.
WF_DEVICE int compress_store(float* to, Vec a, Mask keep) {
  float lanes[vec_width];
  _mm256_storeu_ps(lanes, a.v);
  int count = 0;
  for (int bits = _mm256_movemask_ps(raw(keep)); bits != 0; bits &= bits - 1) {
    to[count++] = lanes[__builtin_ctz(static_cast<unsigned>(bits))];
  }
  return count;
}

WF_DEVICE IVec load_words(const void* p) {
  return ints(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}

/// Two vectors of neighbours to their even and their odd elements, and back.
WF_DEVICE void deinterleave(Vec& a, Vec& b) {
  const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(a.v, b.v, 0x88));
  const __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(a.v, b.v, 0xdd));
  a.v = _mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xd8));
  b.v = _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xd8));
}
WF_DEVICE void interleave(Vec& even, Vec& odd) {
  const __m256 low = _mm256_unpacklo_ps(even.v, odd.v), high = _mm256_unpackhi_ps(even.v, odd.v);
  even.v = _mm256_permute2f128_ps(low, high, 0x20);
  odd.v = _mm256_permute2f128_ps(low, high, 0x31);
}

/// Transposes a square block held in `vec_width` vectors.
WF_DEVICE void transpose(Vec (&a)[8]) {
  __m256 pair[8], quad[8];
  for (int i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_ps(a[i].v, a[i + 1].v);
    pair[i + 1] = _mm256_unpackhi_ps(a[i].v, a[i + 1].v);
  }
  for (int i = 0; i < 8; i += 4) {
    quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
    quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
    quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
    quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    a[i].v = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20);
    a[i + 4].v = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31);
  }
}

/// Lane i of the result is the sum over the lanes of a[i].
WF_DEVICE Vec reduce_add_each(const Vec (&a)[8]) {
  const __m256 s01 = _mm256_hadd_ps(a[0].v, a[1].v), s23 = _mm256_hadd_ps(a[2].v, a[3].v);
  const __m256 s45 = _mm256_hadd_ps(a[4].v, a[5].v), s67 = _mm256_hadd_ps(a[6].v, a[7].v);
  const __m256 low = _mm256_hadd_ps(s01, s23), high = _mm256_hadd_ps(s45, s67);
  return {_mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20),
                        _mm256_permute2f128_ps(low, high, 0x31))};
}

/// Lane i of the mask is bit i.
WF_DEVICE Mask lanes_from_bits(u32 bits) {
  const __m256i lane_bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<i32>(bits)), lane_bit);
  return {_mm256_cmpeq_epi32(set, lane_bit)};
}

WF_NAMESPACE_END
