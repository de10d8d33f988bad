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
/// by a factor within exp(2 d); p itself is rounded to the operand type.
inline double output(const AttentionPrecision& p, double expected, double value_magnitude,
                     double logit_magnitude, std::int64_t keys) {
  const double u = unit_roundoff(DType::f32);
  const double weights = std::expm1(2 * logit_error(p, logit_magnitude)) +
                         (16 + 4 * std::sqrt(static_cast<double>(keys))) * u +
                         (p.operand == DType::f32 ? 0 : 2 * unit_roundoff(p.operand));
  const double computed = weights * value_magnitude;
  return computed + unit_roundoff(p.out) * (std::fabs(expected) + computed) + smallest_error(p.out);
}

/// Largest absolute error of an LSE in base 2.
inline double lse(const AttentionPrecision& p, double expected, double logit_magnitude,
                  std::int64_t keys) {
  const double u = unit_roundoff(DType::f32);
  return std::numbers::log2e * logit_error(p, logit_magnitude) + 4 * u * std::fabs(expected) +
         (16 + 4 * std::sqrt(static_cast<double>(keys))) * u;
}

}  // namespace wavefire::tolerance
