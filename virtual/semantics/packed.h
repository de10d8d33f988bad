// VOP3P: packed f16 and i16, mixed fma, and dot products ("CDNA3 ISA", VOP3P). Every function takes
// words whose halves are already selected and negated: see `arrange`.
#pragma once

#include "virtual/semantics/arithmetic.h"

namespace instinct::INSTINCT_LEVEL {

// Source i of a packed operation: op_sel chooses the half that feeds the low result, op_sel_hi the
// one that feeds the high; neg_lo and neg_hi flip the signs of floats there.
struct PackedModifiers {
  bool select_low = false, select_high = true;
  bool negate_low = false, negate_high = false;
};
inline u32 arrange(u32 word, PackedModifiers m) {
  const u32 low = m.select_low ? word >> 16 : word & 0xffffu;
  const u32 high = m.select_high ? word >> 16 : word & 0xffffu;
  return (low | high << 16) ^ (m.negate_low ? 0x8000u : 0) ^ (m.negate_high ? 0x80000000u : 0);
}

template <class F>
inline u32 halves(u32 a, u32 b, F f) {
  return pack_halves(f(low_half(a), low_half(b)), f(high_half(a), high_half(b)));
}
template <class F>
inline u32 halves(u32 a, u32 b, u32 c, F f) {
  return pack_halves(f(low_half(a), low_half(b), low_half(c)),
                     f(high_half(a), high_half(b), high_half(c)));
}

inline u32 v_pk_add_f16(u32 a, u32 b) {
  return halves(a, b, [](u16 x, u16 y) { return add_f16(x, y); });
}
inline u32 v_pk_mul_f16(u32 a, u32 b) {
  return halves(a, b, [](u16 x, u16 y) { return mul_f16(x, y); });
}
inline u32 v_pk_fma_f16(u32 a, u32 b, u32 c) {
  return halves(a, b, c, [](u16 x, u16 y, u16 z) { return fma_f16(x, y, z); });
}
inline u32 v_pk_min_f16(u32 a, u32 b, bool ieee = true) {
  return halves(a, b, [ieee](u16 x, u16 y) { return v_min_f16(x, y, ieee); });
}
inline u32 v_pk_max_f16(u32 a, u32 b, bool ieee = true) {
  return halves(a, b, [ieee](u16 x, u16 y) { return v_max_f16(x, y, ieee); });
}
// gfx950.
inline u32 v_pk_minimum3_f16(u32 a, u32 b, u32 c) {
  return halves(a, b, c, [](u16 x, u16 y, u16 z) { return minimum3_f16(x, y, z); });
}
inline u32 v_pk_maximum3_f16(u32 a, u32 b, u32 c) {
  return halves(a, b, c, [](u16 x, u16 y, u16 z) { return maximum3_f16(x, y, z); });
}

// Integers. With `clamp` sums, differences and v_pk_mad saturate.
template <bool is_signed>
inline u16 fit16(i32 x, bool clamp) {
  constexpr i32 lowest = is_signed ? -32768 : 0, highest = is_signed ? 32767 : 65535;
  const i32 low = x > lowest ? x : lowest;
  const i32 bounded = low < highest ? low : highest;
  return static_cast<u16>(clamp ? bounded : x);
}
template <bool is_signed>
inline i32 widen16(u16 x) {
  return is_signed ? static_cast<i32>(static_cast<i16>(x)) : static_cast<i32>(x);
}
template <bool is_signed>
inline u32 v_pk_add_16(u32 a, u32 b, bool clamp = false) {
  return halves(a, b, [clamp](u16 x, u16 y) {
    return fit16<is_signed>(widen16<is_signed>(x) + widen16<is_signed>(y), clamp);
  });
}
template <bool is_signed>
inline u32 v_pk_sub_16(u32 a, u32 b, bool clamp = false) {
  return halves(a, b, [clamp](u16 x, u16 y) {
    return fit16<is_signed>(widen16<is_signed>(x) - widen16<is_signed>(y), clamp);
  });
}
template <bool is_signed>
inline u32 v_pk_mad_16(u32 a, u32 b, u32 c, bool clamp = false) {
  return halves(a, b, c, [clamp](u16 x, u16 y, u16 z) {
    // Unsigned, the exact value may need 33 bits.
    const i64 exact = i64{widen16<is_signed>(x)} * widen16<is_signed>(y) + widen16<is_signed>(z);
    const i64 most = is_signed ? exact : exact < 65535 ? exact : 65535;
    return fit16<is_signed>(static_cast<i32>(clamp ? most : exact & 0xffff), clamp);
  });
}
inline u32 v_pk_mul_lo_u16(u32 a, u32 b) {
  return halves(a, b, [](u16 x, u16 y) { return static_cast<u16>(u32{x} * y); });
}
template <bool is_signed>
inline u32 v_pk_min_16(u32 a, u32 b) {
  return halves(a, b,
                [](u16 x, u16 y) { return widen16<is_signed>(x) < widen16<is_signed>(y) ? x : y; });
}
template <bool is_signed>
inline u32 v_pk_max_16(u32 a, u32 b) {
  return halves(a, b,
                [](u16 x, u16 y) { return widen16<is_signed>(x) > widen16<is_signed>(y) ? x : y; });
}
// Shifts of b's halves by a's.
inline u32 v_pk_lshlrev_b16(u32 a, u32 b) {
  return halves(a, b, [](u16 x, u16 y) { return static_cast<u16>(u32{y} << (x & 15)); });
}
inline u32 v_pk_lshrrev_b16(u32 a, u32 b) {
  return halves(a, b, [](u16 x, u16 y) { return static_cast<u16>(y >> (x & 15)); });
}
inline u32 v_pk_ashrrev_i16(u32 a, u32 b) {
  return halves(a, b,
                [](u16 x, u16 y) { return static_cast<u16>(static_cast<i16>(y) >> (x & 15)); });
}

// ---- Mixed fma: each source an f32 or either half ----

// op_sel_hi: f16; op_sel: its high half. neg and abs (the encoding's neg_hi) follow the conversion.
struct MixModifiers {
  bool half = false, high = false, negate = false, absolute = false;
};
inline float mix_source(u32 word, MixModifiers m) {
  const float from_half = f32_of_f16(m.high ? high_half(word) : low_half(word));
  u32 bits = m.half ? bits_of(from_half) : word;
  bits &= m.absolute ? 0x7fffffffu : ~0u;
  return float_of(bits ^ (m.negate ? 0x80000000u : 0));
}
inline float v_fma_mix_f32(float a, float b, float c) { return std::fma(a, b, c); }
// To f16 with one rounding: the f32 in between is odd where inexact.
inline u16 fma_mix_f16(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = c, sum = product + addend;
  const double of_c = sum - product;
  const double lost = (product - (sum - of_c)) + (addend - of_c);
  return f16_of_f32(to_odd(odd_sum(sum, lost)));
}

// ---- Dot products ----

// v_dot2_f32_f16 and v_dot2_f32_bf16: products exact, then assumed as the guides' text has it, each
// sum rounded to f32: ((c + a0 b0) + a1 b1); bf16's adds c last. Subnormals are kept.
inline float v_dot2_f32_f16(u32 a, u32 b, float c) {
  const float low = f32_of_f16(low_half(a)) * f32_of_f16(low_half(b));
  const float high = f32_of_f16(high_half(a)) * f32_of_f16(high_half(b));
  return (c + low) + high;
}
inline float v_dot2_f32_bf16(u32 a, u32 b, float c) {
  const float low = f32_of_bf16(low_half(a)) * f32_of_bf16(low_half(b));
  const float high = f32_of_bf16(high_half(a)) * f32_of_bf16(high_half(b));
  return (low + high) + c;
}
// v_dot2c_f32_bf16 accumulates in the order of v_dot2_f32_f16 ("CDNA4 ISA").
inline float v_dot2c_f32_bf16(u32 a, u32 b, float c) {
  const float low = f32_of_bf16(low_half(a)) * f32_of_bf16(low_half(b));
  const float high = f32_of_bf16(high_half(a)) * f32_of_bf16(high_half(b));
  return (c + low) + high;
}

// Integers of element_bits each; with `clamp` the sum saturates to 32 bits.
template <int element_bits, bool is_signed>
inline i64 field(u32 word, int i) {
  if constexpr (is_signed) {
    return static_cast<i32>(word << (32 - element_bits * (i + 1))) >> (32 - element_bits);
  } else {
    return word >> (element_bits * i) & ((1u << element_bits) - 1);
  }
}
template <int element_bits, bool is_signed>
inline u32 dot(u32 a, u32 b, u32 c, bool clamp = false) {
  i64 sum = is_signed ? static_cast<i64>(static_cast<i32>(c)) : static_cast<i64>(c);
  for (int i = 0; i < 32 / element_bits; ++i) {
    sum += field<element_bits, is_signed>(a, i) * field<element_bits, is_signed>(b, i);
  }
  constexpr i64 lowest = is_signed ? std::numeric_limits<i32>::min() : 0;
  constexpr i64 highest = is_signed ? std::numeric_limits<i32>::max() : 0xffffffffll;
  const i64 bounded = sum < lowest ? lowest : sum > highest ? highest : sum;
  return static_cast<u32>(clamp ? bounded : sum);
}
inline u32 v_dot2_i32_i16(u32 a, u32 b, u32 c, bool clamp = false) {
  return dot<16, true>(a, b, c, clamp);
}
inline u32 v_dot2_u32_u16(u32 a, u32 b, u32 c, bool clamp = false) {
  return dot<16, false>(a, b, c, clamp);
}
inline u32 v_dot4_i32_i8(u32 a, u32 b, u32 c, bool clamp = false) {
  return dot<8, true>(a, b, c, clamp);
}
inline u32 v_dot4_u32_u8(u32 a, u32 b, u32 c, bool clamp = false) {
  return dot<8, false>(a, b, c, clamp);
}
inline u32 v_dot8_i32_i4(u32 a, u32 b, u32 c, bool clamp = false) {
  return dot<4, true>(a, b, c, clamp);
}
inline u32 v_dot8_u32_u4(u32 a, u32 b, u32 c, bool clamp = false) {
  return dot<4, false>(a, b, c, clamp);
}

}  // namespace instinct::INSTINCT_LEVEL
