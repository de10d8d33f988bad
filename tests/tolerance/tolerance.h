// The only tolerances of the tests: forward error bounds, relative to magnitudes that the float64
// reference reports. No test loosens them.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "wavefire/dtype.h"

namespace wavefire::tolerance {

/// Half an ulp of 1: the largest relative error of rounding to nearest.
constexpr double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::f32: return 0x1p-24;
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    case DType::e4m3fn:
    case DType::e4m3fnuz: return 0x1p-4;
    case DType::e5m2:
    case DType::e5m2fnuz: return 0x1p-3;
    default: return 0;
  }
}

/// Half the smallest subnormal: the absolute error of rounding very small numbers. Kernels may also
/// flush float32 subnormals to zero.
constexpr double smallest_error(DType dtype) { return dtype == DType::f16 ? 0x1p-25 : 0x1p-126; }

/// What of a computation, besides its data, decides its rounding errors.
struct AttentionPrecision {
  DType operand = DType::f32;  // the type that p (and rotated q and k) are rounded to for products
  DType out = DType::f32;
  std::int64_t head_dim = 0;
  std::int64_t longest_position = 0;  // of rotated rows; 0: nothing is rotated
  double largest_value = 0;           // max |v|
};

/// Largest absolute error of a logit whose products sum up in magnitude to `magnitude`.
///
/// A float32 sum of n terms errs by about sqrt(n) u (Higham & Mary 2019, random signs), its terms,
/// scales, cap and exponent argument by a few u more. Rotation takes float32 frequencies: an angle
/// at position x errs by x u, twice (q and k), and rotated rows are rounded to the operand type.
inline double logit_error(const AttentionPrecision& p, double magnitude) {
  const double u = unit_roundoff(DType::f32);
  double relative = (8 + 2 * std::sqrt(static_cast<double>(p.head_dim))) * u;
  if (p.longest_position > 0) {
    relative += (8 + 2 * static_cast<double>(p.longest_position)) * u;
    if (p.operand != DType::f32) relative += 2 * unit_roundoff(p.operand);
  }
  return relative * magnitude;
}

/// Largest absolute error of an output. `value_magnitude` is sum p |v|; a logit error d changes p
/// by a factor within exp(2 d); p itself, at most 1, is rounded to the operand type: float16 loses
/// up to half of its smallest subnormal of every weight.
inline double output(const AttentionPrecision& p, double expected, double value_magnitude,
                     double logit_magnitude, std::int64_t keys) {
  const double u = unit_roundoff(DType::f32);
  const double weights = std::expm1(2 * logit_error(p, logit_magnitude)) +
                         (16 + 4 * std::sqrt(static_cast<double>(keys))) * u +
                         (p.operand == DType::f32 ? 0 : 2 * unit_roundoff(p.operand));
  const double vanished = static_cast<double>(keys) * smallest_error(p.operand) * p.largest_value;
  const double computed = weights * value_magnitude + vanished;
  return computed + unit_roundoff(p.out) * (std::fabs(expected) + computed) + smallest_error(p.out);
}

/// Largest absolute error of an LSE in base 2.
inline double lse(const AttentionPrecision& p, double expected, double logit_magnitude,
                  std::int64_t keys) {
  const double u = unit_roundoff(DType::f32);
  return std::numbers::log2e * logit_error(p, logit_magnitude) + 4 * u * std::fabs(expected) +
         (16 + 4 * std::sqrt(static_cast<double>(keys))) * u;
}

/// Rounding a result with the relative error `relative` of `magnitude` to `dtype`.
inline double rounded(DType dtype, double expected, double magnitude, double relative) {
  const double computed = relative * magnitude;
  return computed + unit_roundoff(dtype) * (std::fabs(expected) + computed) + smallest_error(dtype);
}

/// RMSNorm over `width` columns: the sum of squares errs by sqrt(width) u, its root by half of it,
/// a few more roundings follow.
inline double rms_norm(DType dtype, double expected, std::int64_t width) {
  const double relative = (6 + std::sqrt(static_cast<double>(width))) * unit_roundoff(DType::f32);
  return rounded(dtype, expected, std::fabs(expected), relative);
}

/// LayerNorm: the mean errs by sqrt(width) u of the mean magnitude; that error, scaled like the
/// values, is one of them and, times the value, of the scale.
inline double layer_norm(DType dtype, double expected, double bias, double scaled_magnitude,
                         std::int64_t width) {
  const double relative = (8 + std::sqrt(static_cast<double>(width))) * unit_roundoff(DType::f32);
  const double normalized = std::fabs(expected - bias);
  return rounded(dtype, expected,
                 scaled_magnitude * (1 + normalized) + std::fabs(expected) + std::fabs(bias),
                 relative);
}

/// A gated activation of gate x. float32: a few u, and the error of the exponent, which is up to
/// about x^2 units. 16-bit types: short polynomials (kernels/activation/gated.h), and for GELU 2e-8
/// of x where |x| > 5.5.
inline double gated(DType dtype, double expected, double x, double up, bool gelu) {
  const double u = unit_roundoff(DType::f32);
  const double relative = dtype == DType::f32   ? (8 + 4 * std::fabs(x) + 4 * x * x) * u
                          : dtype == DType::f16 ? 0x1p-12
                                                : 3e-4;
  // Where the power in the denominator overflows, its reciprocal is 0.
  const double tail = (0x1p-126 + (gelu ? 2e-8 : 0)) * std::fabs(x * up);
  return rounded(dtype, expected, std::fabs(expected), relative) + tail;
}

/// A rotated pair; `angle_error` is that of its sine and cosine.
inline double rotated(DType dtype, double expected, double pair_magnitude, double angle_error) {
  return rounded(dtype, expected, pair_magnitude, 4 * unit_roundoff(DType::f32) + angle_error);
}
constexpr double sincos_error = 2e-7;

/// A probability of a softmax whose exponent is `exponent` (in base 2) below the largest.
inline double softmax(double expected, double exponent) {
  return (8 + 4 * std::fabs(exponent)) * unit_roundoff(DType::f32) * expected + 0x1p-126;
}

}  // namespace wavefire::tolerance
