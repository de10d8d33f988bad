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

/// erf(x), error below 2 ulp: x + x Q(x^2) below 0.92, 1 - e^-R(|x|) above (minimax polynomials
/// after N. Juffa).
template <class E>
WF_DEVICE E erf(E x) {
  using T = tile::ElementTraits<E>;
  const E z = x * x;
  const E t = tile::abs(x);
  E r = tile::fma(T::splat(-1.72853470e-5f), t, T::splat(3.83197126e-4f));
  const E u = tile::fma(T::splat(-3.88396438e-3f), t, T::splat(2.42546219e-2f));
  r = tile::fma(r, z, u);
  r = tile::fma(r, t, T::splat(-1.06777877e-1f));
  r = tile::fma(r, t, T::splat(-6.34846687e-1f));
  r = tile::fma(r, t, T::splat(-1.28717512e-1f));
  r = tile::fma(r, t, -t);
  const E large = copy_sign(T::splat(1.f) - exp(r), x);
  E p = T::splat(-5.96761703e-4f);
  p = tile::fma(p, z, T::splat(4.99119423e-3f));
  p = tile::fma(p, z, T::splat(-2.67681349e-2f));
  p = tile::fma(p, z, T::splat(1.12819925e-1f));
  p = tile::fma(p, z, T::splat(-3.76125336e-1f));
  p = tile::fma(p, z, T::splat(1.28379166e-1f));
  const E small = tile::fma(p, x, x);
  const E value = tile::select(tile::less(t, T::splat(0.921875f)), small, large);
  return tile::select(tile::less(t, T::splat(4.f)), value,
                      tile::select(tile::equal(x, x), copy_sign(T::splat(1.f), x), x));
}

WF_NAMESPACE_END
