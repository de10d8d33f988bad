// v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos ("CDNA3 ISA", VOP1). The hardware promises 1 ULP
// in f32 and flushes f32 subnormals in and out whatever the mode says (LLVM, AMDGPULegalizerInfo,
// needsDenormHandlingF32: "v_exp_f32 and v_log_f32 do not handle denormals"; AMDGPUISelLowering
// says it of v_rcp_f32 and v_rsq_f32). The results here are within 0.501 ULP of the exact value, so
// they are not bit for bit those of a chip. They are the same at every CPU level: no fused
// operations.
#pragma once

#include "virtual/semantics/float_formats.h"

namespace instinct::INSTINCT_LEVEL {

inline constexpr u32 quiet_nan_bits = 0x7fc00000u;

// x of a NaN, quiet; y else.
inline float or_quiet_nan(float x, float y) {
  return is_nan(x) ? float_of(bits_of(x) | 0x400000u) : y;
}

// 2^x for -200 <= x <= 200, relative error below 2^-36: 2^n times the Taylor series of 2^f,
// |f| <= 1/2, whose remainder is (ln2 / 2)^10 / 10!.
inline double exp2_core(double x) {
  constexpr double round = 6755399441055744.0;  // 1.5 * 2^52: the last place is 1
  const double shifted = x + round;
  const double t = (x - (shifted - round)) * 0.693147180559945309417;
  double p = 1.0 / 362880;
  p = p * t + 1.0 / 40320;
  p = p * t + 1.0 / 5040;
  p = p * t + 1.0 / 720;
  p = p * t + 1.0 / 120;
  p = p * t + 1.0 / 24;
  p = p * t + 1.0 / 6;
  p = p * t + 0.5;
  p = p * t + 1.0;
  p = p * t + 1.0;
  return double_of(bits_of(p) + (bits_of(shifted) << 52));
}

// 2^x. Results below 2^-126 are 0.
inline float v_exp_f32(float x) {
  const float low = x > -150.0f ? x : -150.0f;  // a NaN becomes -150, for now
  const float bounded = low < 130.0f ? low : 130.0f;
  const float y = flush(static_cast<float>(exp2_core(bounded)));
  return or_quiet_nan(x, y);
}

// log2(m * 2^e), 1 <= m < 2, as e' + 2 atanh((m' - 1) / (m' + 1)) / ln2 with sqrt(1/2) <= m' <
// sqrt(2): the series in s = (m' - 1) / (m' + 1), |s| < 0.1716, ends after s^15.
inline double log2_core(double m, double e) {
  const bool upper = m > 1.41421356237309504880;
  const double reduced = upper ? 0.5 * m : m;
  const double exponent = upper ? e + 1.0 : e;
  const double s = (reduced - 1.0) / (reduced + 1.0);
  const double z = s * s;
  double p = 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  return exponent + 2.88539008177792681472 * s * p;
}

// log2(x): -infinity of zeros and subnormals, NaN below.
inline float v_log_f32(float x) {
  const u32 bits = bits_of(x);
  const double m = float_of((bits & 0x7fffffu) | 0x3f800000u);
  const float e = static_cast<float>(static_cast<i32>(bits >> 23 & 0xff) - 127);
  float y = static_cast<float>(log2_core(m, e));
  y = bits == 0x7f800000u ? x : y;
  y = bits > 0x7fffffffu ? float_of(quiet_nan_bits) : y;
  y = (bits & 0x7f800000u) == 0 ? -float_of(0x7f800000u) : y;
  return or_quiet_nan(x, y);
}

// 1 / x: infinity of zeros and subnormals, with their sign.
inline float v_rcp_f32(float x) { return or_quiet_nan(x, flush(1.0f / flush(x))); }
inline float v_rcp_iflag_f32(float x) { return v_rcp_f32(x); }

// sqrt(x): NaN below zero; subnormals are zeros.
inline float v_sqrt_f32(float x) {
  const float source = flush(x);
  const float y = source < 0.0f ? float_of(quiet_nan_bits) : std::sqrt(source);
  return or_quiet_nan(x, y);
}

// 1 / sqrt(x): infinity of zeros and subnormals, with their sign; NaN below.
inline float v_rsq_f32(float x) {
  const float source = flush(x);
  const bool zero = source == 0.0f;
  const double root = std::sqrt(static_cast<double>(source > 0.0f ? source : 1.0f));
  float y = static_cast<float>(1.0 / root);
  y = source < 0.0f ? float_of(quiet_nan_bits) : y;
  y = zero ? float_of(0x7f800000u | (bits_of(x) & 0x80000000u)) : y;
  return or_quiet_nan(x, y);
}

// sin(2 pi t) for |t| <= 1/4, in odd powers up to t^17: error below 2^-50.
inline double sin_turns(double t) {
  constexpr double two_pi = 6.28318530717958647693;
  const double x = t * two_pi;
  const double z = x * x;
  double p = 1.0 / 355687428096000.0;
  p = 1.0 / -1307674368000.0 + p * z;
  p = 1.0 / 6227020800.0 + p * z;
  p = 1.0 / -39916800.0 + p * z;
  p = 1.0 / 362880.0 + p * z;
  p = 1.0 / -5040.0 + p * z;
  p = 1.0 / 120.0 + p * z;
  p = 1.0 / -6.0 + p * z;
  return x + x * (p * z);
}

// x less the nearest integer.
inline double fraction_of_turn(double x) {
  constexpr double round = 6755399441055744.0;
  return x - ((x + round) - round);
}

// sin(2 pi x). Beyond +-256 the result is 0 ("Vega ISA", V_SIN_F32: "valid input domain
// [-256, +256], out-of-range input results in float 0."); NaN of infinities.
inline float v_sin_f32(float x) {
  const float source = flush(x);
  const bool inside = source >= -256.0f && source <= 256.0f;  // a NaN is not
  const bool outside = !inside;
  const double r = fraction_of_turn(outside ? 0.0f : source);
  // sin is symmetric about a quarter turn.
  double folded = r > 0.25 ? 0.5 - r : r;
  folded = r < -0.25 ? -0.5 - r : folded;
  float y = flush(static_cast<float>(sin_turns(folded)));
  y = source == 0.0f ? source : y;
  y = outside ? 0.0f : y;
  y = (bits_of(x) & 0x7fffffffu) == 0x7f800000u ? float_of(quiet_nan_bits) : y;
  return or_quiet_nan(x, y);
}

// cos(2 pi x). Beyond +-256 the result is 1 ("Vega ISA", V_COS_F32); NaN of infinities.
inline float v_cos_f32(float x) {
  const float source = flush(x);
  const bool inside = source >= -256.0f && source <= 256.0f;  // a NaN is not
  const bool outside = !inside;
  const double r = fraction_of_turn(outside ? 0.0f : source);
  const double size = r < 0.0 ? -r : r;
  float y = flush(static_cast<float>(sin_turns(0.25 - size)));
  y = outside ? 1.0f : y;
  y = (bits_of(x) & 0x7fffffffu) == 0x7f800000u ? float_of(quiet_nan_bits) : y;
  return or_quiet_nan(x, y);
}

// f16: subnormals are kept ("CDNA3 ISA", V_EXP_F16 and others: 0.51 ULP). Every f16 is a normal
// f32, and so is every result that an f16 can hold.
inline u16 v_exp_f16(u16 x) { return f16_of_f32(v_exp_f32(f32_of_f16(x))); }
inline u16 v_log_f16(u16 x) { return f16_of_f32(v_log_f32(f32_of_f16(x))); }
inline u16 v_rcp_f16(u16 x) { return f16_of_f32(v_rcp_f32(f32_of_f16(x))); }
inline u16 v_rsq_f16(u16 x) { return f16_of_f32(v_rsq_f32(f32_of_f16(x))); }
inline u16 v_sqrt_f16(u16 x) { return f16_of_f32(v_sqrt_f32(f32_of_f16(x))); }
inline u16 v_sin_f16(u16 x) { return f16_of_f32(v_sin_f32(f32_of_f16(x))); }
inline u16 v_cos_f16(u16 x) { return f16_of_f32(v_cos_f32(f32_of_f16(x))); }

// f64: the hardware gives an estimate that code refines ("CDNA3 ISA", V_RCP_F64); these are exact
// to the last place, which refines to the same.
inline double v_rcp_f64(double x) { return 1.0 / x; }
inline double v_sqrt_f64(double x) { return std::sqrt(x); }
inline double v_rsq_f64(double x) { return 1.0 / std::sqrt(x); }

}  // namespace instinct::INSTINCT_LEVEL
