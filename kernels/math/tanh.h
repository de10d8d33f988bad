// tanh and erf for any element type.
#pragma once

#include "math/exp2.h"

WF_NAMESPACE_BEGIN(math)

template <class E>
WF_DEVICE E copy_sign(E magnitude, E sign) {
  return tile::from_bits((tile::to_bits(magnitude) & 0x7fffffff) |
                         (tile::to_bits(sign) & static_cast<i32>(0x80000000u)));
}

/// tanh(x), error below 3 ulp: x + x^3 P(x^2) below 0.625 (coefficients of Cephes, Moshier 1989),
/// 1 - 2 / (e^2|x| + 1) above.
template <class E>
WF_DEVICE E tanh(E x) {
  using T = tile::ElementTraits<E>;
  const E z = x * x;
  E p = T::splat(-5.70498872745e-3f);
  p = tile::fma(p, z, T::splat(2.06390887954e-2f));
  p = tile::fma(p, z, T::splat(-5.37397155531e-2f));
  p = tile::fma(p, z, T::splat(1.33314422036e-1f));
  p = tile::fma(p, z, T::splat(-3.33332819422e-1f));
  const E small = tile::fma(p * z, x, x);
  const E magnitude = tile::abs(x);
  const E large = T::splat(1.f) - T::splat(2.f) / (exp(magnitude + magnitude) + T::splat(1.f));
  return tile::select(tile::less(magnitude, T::splat(0.625f)), small, copy_sign(large, x));
}

/// log(1 - erf(t)) for t of 0.92 and more, and erf(x) below that (minimax polynomials after N.
/// Juffa).
template <class E>
WF_DEVICE E log_erfc_of_large(E t) {
  using T = tile::ElementTraits<E>;
  const E z = t * t;
  E r = tile::fma(T::splat(-1.72853470e-5f), t, T::splat(3.83197126e-4f));
  const E u = tile::fma(T::splat(-3.88396438e-3f), t, T::splat(2.42546219e-2f));
  r = tile::fma(r, z, u);
  r = tile::fma(r, t, T::splat(-1.06777877e-1f));
  r = tile::fma(r, t, T::splat(-6.34846687e-1f));
  r = tile::fma(r, t, T::splat(-1.28717512e-1f));
  return tile::fma(r, t, -t);
}
template <class E>
WF_DEVICE E erf_of_small(E x) {
  using T = tile::ElementTraits<E>;
  const E z = x * x;
  E p = T::splat(-5.96761703e-4f);
  p = tile::fma(p, z, T::splat(4.99119423e-3f));
  p = tile::fma(p, z, T::splat(-2.67681349e-2f));
  p = tile::fma(p, z, T::splat(1.12819925e-1f));
  p = tile::fma(p, z, T::splat(-3.76125336e-1f));
  p = tile::fma(p, z, T::splat(1.28379166e-1f));
  return tile::fma(p, x, x);
}

/// erf(x), error below 2 ulp.
template <class E>
WF_DEVICE E erf(E x) {
  using T = tile::ElementTraits<E>;
  const E t = tile::abs(x);
  const E large = copy_sign(T::splat(1.f) - exp(log_erfc_of_large(tile::min(T::splat(4.f), t))), x);
  const E value = tile::select(tile::less(t, T::splat(0.921875f)), erf_of_small(x), large);
  return tile::select(tile::equal(x, x), value, x);
}

/// The normal distribution function (1 + erf(x / sqrt 2)) / 2, without cancellation for negative x,
/// in three steps: its value is normal_cdf_from(x, exp(log_normal_tail(x))).
template <class E>
WF_DEVICE E log_normal_tail(E x) {
  using T = tile::ElementTraits<E>;
  return log_erfc_of_large(tile::min(T::splat(10.f), tile::abs(x * T::splat(0.707106781f))));
}
template <class E>
WF_DEVICE E normal_cdf_from(E x, E erfc) {
  using T = tile::ElementTraits<E>;
  const E y = x * T::splat(0.707106781f);
  const E half = T::splat(0.5f);
  const E tail = half * erfc;
  const E large = tile::select(tile::less(x, T::splat(0.f)), tail, T::splat(1.f) - tail);
  const E small = tile::fma(half, erf_of_small(y), half);
  const E value = tile::select(tile::less(tile::abs(y), T::splat(0.921875f)), small, large);
  return tile::select(tile::equal(x, x), value, x);
}
template <class E>
WF_DEVICE E normal_cdf(E x) {
  return normal_cdf_from(x, exp(log_normal_tail(x)));
}

WF_NAMESPACE_END
