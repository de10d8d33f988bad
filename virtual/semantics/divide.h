// Division's helpers, exponents and fractions ("CDNA3 ISA", V_DIV_SCALE_F32, V_DIV_FMAS_F32,
// V_DIV_FIXUP_F32, V_LDEXP_F32, V_FREXP_*, V_FRACT_F32, V_TRIG_PREOP_F64).
#pragma once

#include "virtual/semantics/arithmetic.h"

namespace instinct::INSTINCT_LEVEL {

// What division needs of a width: f32 and f64 differ in these numbers only.
template <class T>
struct Division;
template <>
struct Division<float> {
  using Bits = u32;
  static constexpr int mantissa_bits = 23, special_exponent = 255, bias = 127;
  static constexpr int large = 96;  // quotients from 2^96 on
  static constexpr int tiny = 23;   // numerators with exponent fields up to this
  static constexpr int scale = 64;
  static constexpr int underflow = -150;
};
template <>
struct Division<double> {
  using Bits = u64;
  static constexpr int mantissa_bits = 52, special_exponent = 2047, bias = 1023;
  static constexpr int large = 768, tiny = 53, scale = 128;
  static constexpr int underflow = -1075;
};

template <class T>
inline int exponent_field(T x) {
  using D = Division<T>;
  return static_cast<int>(bits_of(x) >> D::mantissa_bits & D::special_exponent);
}
template <class T>
inline bool is_subnormal(T x) {
  return exponent_field(x) == 0 && x != T{0};
}
template <class T>
inline bool sign_bit(T x) {
  return (bits_of(x) >> (8 * sizeof(T) - 1)) != 0;
}
template <class T>
inline T with_sign(T x, bool negative) {
  const T size = sign_bit(x) ? -x : x;
  return negative ? -size : size;
}
template <class T>
inline T quiet_nan(bool negative) {
  using D = Division<T>;
  using Bits = typename D::Bits;
  const Bits special = static_cast<Bits>(D::special_exponent) << D::mantissa_bits;
  const Bits sign = negative ? Bits{1} << (8 * sizeof(T) - 1) : 0;
  return std::bit_cast<T>(special | Bits{1} << (D::mantissa_bits - 1) | sign);
}

template <class T>
struct Scaling {
  T value;
  bool flag;  // to VCC: v_div_fmas has to undo the scaling
};

// `x` is the denominator or the numerator, which is brought into a range where the steps of a
// division neither overflow nor lose bits. Where the guide's text would scale a denominator above
// 2^126 further up, this scales it down: only so is the quotient within range.
template <class T>
inline Scaling<T> div_scale(T x, T denominator, T numerator) {
  using D = Division<T>;
  if (numerator == T{0} || denominator == T{0}) return {quiet_nan<T>(false), false};
  const int difference = exponent_field(numerator) - exponent_field(denominator);
  const bool is_denominator = x == denominator, is_numerator = x == numerator;
  if (difference >= D::large) {
    return {is_denominator ? std::ldexp(x, D::scale) : x, true};
  }
  if (is_subnormal(denominator)) return {std::ldexp(x, D::scale), false};
  const bool small_reciprocal = is_subnormal(T{1} / denominator);
  const bool small_quotient = is_subnormal(numerator / denominator);
  if (small_reciprocal && small_quotient) {
    return {is_denominator ? std::ldexp(x, -D::scale) : x, true};
  }
  if (small_reciprocal) return {std::ldexp(x, -D::scale), false};
  if (small_quotient) return {is_numerator ? std::ldexp(x, D::scale) : x, true};
  if (exponent_field(numerator) <= D::tiny) return {std::ldexp(x, D::scale), false};
  return {x, false};
}

// fma, scaled back if `flag`: up if the quotient is large, down if it is small. (The guide's text
// has 2^32 and 2^64 here; with v_div_scale's 2^64 and 2^128 only their inverse gives quotients.)
template <class T>
inline T div_fmas(T a, T b, T c, bool flag) {
  using D = Division<T>;
  const T fused = std::fma(a, b, c);
  if (!flag) return fused;
  return std::ldexp(fused, exponent_field(c) > D::bias ? D::scale : -D::scale);
}

// The quotient with its special cases put right. (The guide's text leaves a NaN quotient be; it can
// arise only from an overflow.)
template <class T>
inline T div_fixup(T quotient, T denominator, T numerator) {
  using D = Division<T>;
  using Limits = std::numeric_limits<T>;
  const bool negative = sign_bit(denominator) != sign_bit(numerator);
  if (is_nan(numerator)) return std::bit_cast<T>(bits_of(numerator) | FloatBits<T>::quiet_bit);
  if (is_nan(denominator)) return std::bit_cast<T>(bits_of(denominator) | FloatBits<T>::quiet_bit);
  const bool infinite_n = std::isinf(numerator), infinite_d = std::isinf(denominator);
  if (denominator == T{0} && numerator == T{0}) return quiet_nan<T>(true);
  if (infinite_n && infinite_d) return quiet_nan<T>(true);
  if (denominator == T{0} || infinite_n) return with_sign(Limits::infinity(), negative);
  if (infinite_d || numerator == T{0}) return with_sign(T{0}, negative);
  if (exponent_field(numerator) - exponent_field(denominator) < D::underflow) {
    return with_sign(T{0}, negative);
  }
  if (is_nan(quotient)) return with_sign(Limits::infinity(), negative);
  return with_sign(quotient, negative);
}

inline u16 v_div_fixup_f16(u16 quotient, u16 denominator, u16 numerator) {
  const u16 sign = (denominator ^ numerator) & 0x8000;
  const u16 d = denominator & 0x7fff, n = numerator & 0x7fff;
  if (n > 0x7c00) return static_cast<u16>(numerator | 0x200);
  if (d > 0x7c00) return static_cast<u16>(denominator | 0x200);
  if ((d == 0 && n == 0) || (d == 0x7c00 && n == 0x7c00)) return 0xfe00;
  if (d == 0 || n == 0x7c00) return sign | 0x7c00;
  if (d == 0x7c00 || n == 0) return sign;
  return static_cast<u16>(sign | (quotient & 0x7fff));
}

// x * 2^n, rounded once; 2^(+-300) and 2^(+-2200) are beyond what any exponent can undo.
inline float v_ldexp_f32(float x, i32 n) {
  // In f64, where every f32 times such a power is exact, so one rounding is left.
  const i32 low = n < -300 ? -300 : n;
  const i32 bounded = low > 300 ? 300 : low;
  const u64 power = static_cast<u64>(bounded + 1023) << 52;
  const float y = static_cast<float>(static_cast<double>(x) * double_of(power));
  return is_nan(x) ? float_of(bits_of(x) | 0x400000u) : y;
}
inline double v_ldexp_f64(double x, i32 n) {
  return std::ldexp(x, n < -2200 ? -2200 : n > 2200 ? 2200 : n);
}
inline u16 v_ldexp_f16(u16 x, i16 n) {
  // f32 holds any f16 times 2^n exactly for |n| <= 60, and no more is needed.
  const i32 bounded = n < -60 ? -60 : n > 60 ? 60 : n;
  return f16_of_f32(f32_of_f16(x) * float_of(static_cast<u32>(bounded + 127) << 23));
}

// x = mantissa * 2^exponent with 1/2 <= |mantissa| < 1; infinity, NaN and 0 as they are, with 0.
inline float v_frexp_mant_f32(float x) {
  const u32 bits = bits_of(x);
  const float normal = (bits & 0x7f800000u) == 0 ? x * 0x1p24f : x;
  const u32 mantissa = (bits_of(normal) & 0x807fffffu) | 0x3f000000u;
  const bool special = (bits & 0x7f800000u) == 0x7f800000u || x == 0.0f;
  return float_of(special ? bits : mantissa);
}
inline i32 v_frexp_exp_i32_f32(float x) {
  const u32 bits = bits_of(x);
  const bool subnormal = (bits & 0x7f800000u) == 0;
  const u32 normal = bits_of(subnormal ? x * 0x1p24f : x);
  const i32 exponent = static_cast<i32>(normal >> 23 & 0xff) - 126 - (subnormal ? 24 : 0);
  const bool special = (bits & 0x7f800000u) == 0x7f800000u || x == 0.0f;
  return special ? 0 : exponent;
}
inline double v_frexp_mant_f64(double x) {
  if (!std::isfinite(x) || x == 0.0) return x;
  int exponent = 0;
  return std::frexp(x, &exponent);
}
inline i32 v_frexp_exp_i32_f64(double x) {
  if (!std::isfinite(x) || x == 0.0) return 0;
  int exponent = 0;
  std::frexp(x, &exponent);
  return exponent;
}
inline u16 v_frexp_mant_f16(u16 x) {
  if ((x & 0x7c00) == 0x7c00) return x;
  return f16_of_f32(v_frexp_mant_f32(f32_of_f16(x)));
}
inline i16 v_frexp_exp_i16_f16(u16 x) {
  return static_cast<i16>(v_frexp_exp_i32_f32(f32_of_f16(x)));
}

// x - floor(x), below 1 ("CDNA3 ISA", V_FRACT_F32; the largest number below 1 instead of 1:
// LLVM, AMDGPU's llvm.amdgcn.fract).
inline float v_fract_f32(float x) {
  const float y = x - std::floor(x);
  return y < 1.0f || is_nan(y) ? y : 0x1.fffffep-1f;
}
inline double v_fract_f64(double x) {
  const double y = x - std::floor(x);
  return y < 1.0 || is_nan(y) ? y : 0x1.fffffffffffffp-1;
}
inline u16 v_fract_f16(u16 x) {
  const float value = f32_of_f16(x);
  const u16 y = f16_of_f32(value - std::floor(value));
  return y == 0x3c00 ? 0x3bff : y;
}

// f16 to an integer value.
inline u16 v_floor_f16(u16 x) { return f16_of_f32(std::floor(f32_of_f16(x))); }
inline u16 v_ceil_f16(u16 x) { return f16_of_f32(std::ceil(f32_of_f16(x))); }
inline u16 v_trunc_f16(u16 x) { return f16_of_f32(std::trunc(f32_of_f16(x))); }
inline u16 v_rndne_f16(u16 x) { return f16_of_f32(std::nearbyint(f32_of_f16(x))); }

// 53 bits of 2 / pi from bit 53 * segment on, as a double at its place: one digit of an argument
// reduction. Larger arguments take later bits (V_TRIG_PREOP_F64).
double v_trig_preop_f64(double x, u32 segment);

}  // namespace instinct::INSTINCT_LEVEL
