// Logarithms for any element type. Error below 2 ulp; log of 0 is -inf, of a negative number NaN.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(math)

/// log2(x) * unit, where `unit` is 1 for log2 and ln 2 for log: x = 2^n m with m in [sqrt 1/2, sqrt
/// 2), ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172. The series' remainder is below 2^-28.
template <class E>
WF_DEVICE E log_in_units(E x, float ln_to_unit, float power_unit) {
  using T = tile::ElementTraits<E>;
  using Int = typename T::Int;
  const auto tiny = tile::less(x, T::splat(1.17549435e-38f));
  const auto finite = tile::less(x, T::splat(tile::infinity));
  const E scaled = tile::select(tiny, x * T::splat(16777216.f), x);
  // What has no logarithm is replaced below; here it must only not overflow the integers.
  const Int bits = tile::to_bits(tile::select(finite, scaled, T::splat(1.f))) & 0x7fffffff;
  // Moving the mantissa's origin to sqrt 1/2 makes the exponent field the wanted n.
  const Int shifted = bits - T::splat_int(0x3f3504f3);
  const Int n = tile::shift_right_logical(shifted + (127 << 23), 23) - T::splat_int(127);
  const E m = tile::from_bits((shifted & 0x007fffff) + 0x3f3504f3);
  const E s = (m - T::splat(1.f)) / (m + T::splat(1.f));
  const E z = s * s;
  E p = T::splat(2.f / 9.f);
  p = tile::fma(p, z, T::splat(2.f / 7.f));
  p = tile::fma(p, z, T::splat(2.f / 5.f));
  p = tile::fma(p, z, T::splat(2.f / 3.f));
  p = tile::fma(p * z, s, s + s);
  const E power = tile::to_float(n) + tile::select(tiny, T::splat(-24.f), T::splat(0.f));
  E r = tile::fma(power, T::splat(power_unit), p * T::splat(ln_to_unit));
  r = tile::select(tile::equal(x, T::splat(0.f)), T::splat(-tile::infinity), r);
  r = tile::select(tile::less(x, T::splat(0.f)), T::splat(tile::quiet_nan), r);
  // Infinity and NaN are their own logarithms.
  return tile::select(finite, r, x);
}

template <class E>
WF_DEVICE E log2(E x) {
  return log_in_units(x, 1.44269504f, 1.f);
}

template <class E>
WF_DEVICE E log(E x) {
  return log_in_units(x, 1.f, 0.693147181f);
}

WF_NAMESPACE_END
