// Float arithmetic: f16 (as bits), minimum and maximum of every width, and all of it in the
// rounding modes that C++ has no operator for. f32 and f64 to nearest are plain operators and
// std::fma. ("CDNA3 ISA", VOP2 and VOP3A; MODE.FP_ROUND, MODE.FP_DENORM, MODE.IEEE.)
#pragma once

#include <limits>

#include "virtual/semantics/float_formats.h"

namespace instinct::INSTINCT_LEVEL {

// `value` cut to f32, its last place odd if that is inexact: a later rounding to fewer than 23 bits
// is then right (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums"). What is
// smaller than 2^-126 becomes that: no f16, and nothing narrower, is as small.
inline float to_odd(double value) {
  constexpr u64 lost_bits = (u64{1} << 29) - 1;
  const u64 bits = bits_of(value), sign = bits & 0x8000000000000000u, size = bits ^ sign;
  const u64 odd = (size & ~lost_bits) | ((size & lost_bits) + lost_bits) >> 29 << 29;
  constexpr u64 smallest = static_cast<u64>(1023 - 126) << 52;
  const u64 bounded = odd > smallest ? odd : smallest;
  return static_cast<float>(double_of(sign | (size == 0 ? 0 : bounded)));
}
template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = u32;
  static constexpr u32 quiet_bit = 0x400000u, infinity_bits = 0x7f800000u, sign_bit = 0x80000000u;
};
template <>
struct FloatBits<double> {
  using Bits = u64;
  static constexpr u64 quiet_bit = 0x8000000000000u, infinity_bits = 0x7ff0000000000000u,
                       sign_bit = 0x8000000000000000u;
};

// A sum, odd in its last place if rounding it lost something.
template <class T>
inline T odd_sum(T sum, T lost) {
  using F = FloatBits<T>;
  using Bits = typename F::Bits;
  constexpr int sign_bit = 8 * sizeof(T) - 1;
  const Bits bits = bits_of(sum);
  const bool apply = (lost != T{0}) & ((bits & F::infinity_bits) != F::infinity_bits);
  // Of an even one, the next if the exact sum is farther from 0, else the one before.
  const Bits step = 1 - 2 * ((bits_of(lost) ^ bits) >> sign_bit);
  const Bits even = (bits & 1) - 1;  // as a mask
  return std::bit_cast<T>(bits + (pick(apply, step, Bits{0}) & even));
}

// f16, to nearest. An f32 operation in between rounds innocuously, for it has 2 * 11 + 2 bits
// (Figueroa, "When is double rounding innocuous?").
inline u16 add_f16(u16 a, u16 b) { return f16_of_f32(f32_of_f16(a) + f32_of_f16(b)); }
inline u16 sub_f16(u16 a, u16 b) { return f16_of_f32(f32_of_f16(a) - f32_of_f16(b)); }
inline u16 mul_f16(u16 a, u16 b) { return f16_of_f32(f32_of_f16(a) * f32_of_f16(b)); }
// Fused: the product is exact in f32, and Knuth's TwoSum finds what the sum loses.
inline u16 fma_f16(u16 a, u16 b, u16 c) {
  const float x = f32_of_f16(a) * f32_of_f16(b), y = f32_of_f16(c);
  const float sum = x + y;
  const float of_y = sum - x;
  const float lost = (x - (sum - of_y)) + (y - of_y);
  return f16_of_f32(odd_sum(sum, lost));
}
// v_mad_f16, v_mac_f16: the product is rounded first.
inline u16 mad_f16(u16 a, u16 b, u16 c) { return add_f16(mul_f16(a, b), c); }

// ---- Minimum and maximum ("CDNA3 ISA", V_MIN_F32, V_MAX_F32 and their kin) ----

// The lesser; a number before a NaN; -0 before +0. In IEEE mode a signalling NaN wins, quietened.
template <class T, bool take_maximum>
inline T select_number(T a, T b, bool ieee) {
  using F = FloatBits<T>;
  using Bits = typename F::Bits;
  const Bits x = bits_of(a), y = bits_of(b);
  const Bits magnitude_x = x & ~F::sign_bit, magnitude_y = y & ~F::sign_bit;
  const bool nan_a = magnitude_x > F::infinity_bits, nan_b = magnitude_y > F::infinity_bits;
  const bool signalling_a = nan_a & ((x & F::quiet_bit) == 0) & ieee;
  const bool signalling_b = nan_b & ((y & F::quiet_bit) == 0) & ieee;
  const bool zeros = (magnitude_x | magnitude_y) == 0;
  const Bits of_zeros = take_maximum ? x & y : x | y;
  const bool take_a = take_maximum ? a > b : a < b;
  Bits result = pick(take_a, x, y);
  result = pick(zeros, of_zeros, result);
  result = pick(nan_b, x, result);
  result = pick(nan_a, y, result);
  result = pick(signalling_b, static_cast<Bits>(y | F::quiet_bit), result);
  result = pick(signalling_a, static_cast<Bits>(x | F::quiet_bit), result);
  return std::bit_cast<T>(result);
}

inline float v_min_f32(float a, float b, bool ieee = true) {
  return select_number<float, false>(a, b, ieee);
}
inline float v_max_f32(float a, float b, bool ieee = true) {
  return select_number<float, true>(a, b, ieee);
}
inline double v_min_f64(double a, double b, bool ieee = true) {
  return select_number<double, false>(a, b, ieee);
}
inline double v_max_f64(double a, double b, bool ieee = true) {
  return select_number<double, true>(a, b, ieee);
}

// f16 as its own bits in order: sign and magnitude to two's complement.
inline i32 order_f16(u16 x) {
  const i32 magnitude = x & 0x7fff;
  return (x & 0x8000) != 0 ? -magnitude - 1 : magnitude;  // -0 comes before +0
}
template <bool take_maximum>
inline u16 select_number_f16(u16 a, u16 b, bool ieee) {
  const bool nan_a = is_nan_f16(a), nan_b = is_nan_f16(b);
  const bool take_a = take_maximum ? order_f16(a) > order_f16(b) : order_f16(a) < order_f16(b);
  const u32 x = a, y = b;
  u32 result = pick(take_a, x, y);
  result = pick(nan_b, x, result);
  result = pick(nan_a, y, result);
  result = pick(nan_b & ((y & 0x200) == 0) & ieee, y | 0x200, result);
  result = pick(nan_a & ((x & 0x200) == 0) & ieee, x | 0x200, result);
  return static_cast<u16>(result);
}
inline u16 v_min_f16(u16 a, u16 b, bool ieee = true) {
  return select_number_f16<false>(a, b, ieee);
}
inline u16 v_max_f16(u16 a, u16 b, bool ieee = true) { return select_number_f16<true>(a, b, ieee); }

inline float v_min3_f32(float a, float b, float c, bool ieee = true) {
  return v_min_f32(v_min_f32(a, b, ieee), c, ieee);
}
inline float v_max3_f32(float a, float b, float c, bool ieee = true) {
  return v_max_f32(v_max_f32(a, b, ieee), c, ieee);
}
inline u16 v_min3_f16(u16 a, u16 b, u16 c, bool ieee = true) {
  return v_min_f16(v_min_f16(a, b, ieee), c, ieee);
}
inline u16 v_max3_f16(u16 a, u16 b, u16 c, bool ieee = true) {
  return v_max_f16(v_max_f16(a, b, ieee), c, ieee);
}

// The one in the middle; with a NaN, the least ("CDNA3 ISA", V_MED3_F32).
inline float v_med3_f32(float a, float b, float c, bool ieee = true) {
  const float most = v_max3_f32(a, b, c, ieee);
  u32 middle = bits_of(v_max_f32(a, b, ieee));
  middle = pick(most == b, bits_of(v_max_f32(a, c, ieee)), middle);
  middle = pick(most == a, bits_of(v_max_f32(b, c, ieee)), middle);
  const bool nan = is_nan(a) | is_nan(b) | is_nan(c);
  return float_of(pick(nan, bits_of(v_min3_f32(a, b, c, ieee)), middle));
}
inline u16 v_med3_f16(u16 a, u16 b, u16 c, bool ieee = true) {
  const float x = f32_of_f16(a), y = f32_of_f16(b);
  const float most = f32_of_f16(v_max3_f16(a, b, c, ieee));
  u16 middle = v_max_f16(a, b, ieee);
  middle = pick(most == y, v_max_f16(a, c, ieee), middle);
  middle = pick(most == x, v_max_f16(b, c, ieee), middle);
  const bool nan = is_nan_f16(a) | is_nan_f16(b) | is_nan_f16(c);
  return pick(nan, v_min3_f16(a, b, c, ieee), middle);
}

// gfx950: IEEE 754-2019 minimum and maximum, where a NaN wins ("CDNA4 ISA", V_MINIMUM3_F32).
template <bool take_maximum>
inline float select_propagating(float a, float b) {
  float result = take_maximum ? v_max_f32(a, b) : v_min_f32(a, b);
  result = is_nan(b) ? float_of(bits_of(b) | 0x400000u) : result;
  return is_nan(a) ? float_of(bits_of(a) | 0x400000u) : result;
}
inline float v_minimum3_f32(float a, float b, float c) {
  return select_propagating<false>(select_propagating<false>(a, b), c);
}
inline float v_maximum3_f32(float a, float b, float c) {
  return select_propagating<true>(select_propagating<true>(a, b), c);
}
template <bool take_maximum>
inline u16 select_propagating_f16(u16 a, u16 b) {
  u32 result = take_maximum ? v_max_f16(a, b) : v_min_f16(a, b);
  result = is_nan_f16(b) ? b | 0x200u : result;
  return static_cast<u16>(is_nan_f16(a) ? a | 0x200u : result);
}
inline u16 minimum3_f16(u16 a, u16 b, u16 c) {
  return select_propagating_f16<false>(select_propagating_f16<false>(a, b), c);
}
inline u16 maximum3_f16(u16 a, u16 b, u16 c) {
  return select_propagating_f16<true>(select_propagating_f16<true>(a, b), c);
}

// DX9's product: anything times zero is +0 ("CDNA3 ISA", V_MUL_LEGACY_F32).
inline float v_mul_legacy_f32(float a, float b) { return a == 0.0f || b == 0.0f ? 0.0f : a * b; }

// ---- Output modifiers ("CDNA3 ISA", VOP3A: OMOD, CLAMP) ----

// omod 1: times 2, 2: times 4, 3: divided by 2. Applies only where the mode flushes subnormals.
inline float apply_omod(float x, u8 omod) {
  const float factor = omod == 1 ? 2.0f : omod == 2 ? 4.0f : omod == 3 ? 0.5f : 1.0f;
  return x * factor;
}
// To [0, 1]; NaN to 0 with MODE.DX10_CLAMP.
inline float clamp_f32(float x, bool dx10 = true) {
  const float low = x > 0.0f ? x : 0.0f;
  const float y = low < 1.0f ? low : 1.0f;
  return is_nan(x) && !dx10 ? x : y;
}
inline double clamp_f64(double x, bool dx10 = true) {
  const double low = x > 0.0 ? x : 0.0;
  const double y = low < 1.0 ? low : 1.0;
  return is_nan(x) && !dx10 ? x : y;
}
inline u16 clamp_f16(u16 x, bool dx10 = true) {
  const bool nan = is_nan_f16(x);
  u16 y = (x & 0x8000) != 0 ? 0 : x > 0x3c00 ? 0x3c00 : x;
  y = nan ? 0 : y;
  return nan && !dx10 ? x : y;
}

}  // namespace instinct::INSTINCT_LEVEL
