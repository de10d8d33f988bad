// 2^x and e^x for any element type. Error below 2 ulp over the whole range, results gradually
// underflow, infinities and NaN go through.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(math)

/// a * 2^n for n in [-300, 300], in two steps so that neither power leaves the normal range.
template <class E>
WF_DEVICE E scale_by_power(E a, typename tile::ElementTraits<E>::Int n) {
  using T = tile::ElementTraits<E>;
  const auto half = tile::round_to_int(tile::to_float(n) * T::splat(0.5f));
  const auto power = [](auto k) { return tile::from_bits((k + 127) << 23); };
  return a * power(half) * power(n - half);
}

/// 2^x. The fraction f in [-1/2, 1/2] goes through a polynomial of degree 6 (minimax, relative
/// error 2^-26.6).
template <class E>
WF_DEVICE E exp2(E x) {
  using T = tile::ElementTraits<E>;
  // The bounds come first: a comparison with NaN is false and leaves x.
  x = tile::min(T::splat(129.f), x);
  x = tile::max(T::splat(-151.f), x);
  const auto n = tile::round_to_int(x);
  const E f = x - tile::to_float(n);
  E p = T::splat(1.535336188e-4f);
  p = tile::fma(p, f, T::splat(1.339887440e-3f));
  p = tile::fma(p, f, T::splat(9.618437357e-3f));
  p = tile::fma(p, f, T::splat(5.550332471e-2f));
  p = tile::fma(p, f, T::splat(2.402264791e-1f));
  p = tile::fma(p, f, T::splat(6.931472028e-1f));
  p = tile::fma(p, f, T::splat(1.f));
  return scale_by_power(p, n);
}

/// e^x = 2^n e^r with r = x - n ln 2, ln 2 in two parts (Cody and Waite 1980).
template <class E>
WF_DEVICE E exp(E x) {
  using T = tile::ElementTraits<E>;
  x = tile::min(T::splat(89.f), x);
  x = tile::max(T::splat(-104.f), x);
  const auto n = tile::round_to_int(x * T::splat(1.44269504f));
  const E k = tile::to_float(n);
  E r = tile::fma(k, T::splat(-0.693359375f), x);
  r = tile::fma(k, T::splat(2.12194440e-4f), r);
  E p = T::splat(1.9875691500e-4f);
  p = tile::fma(p, r, T::splat(1.3981999507e-3f));
  p = tile::fma(p, r, T::splat(8.3334519073e-3f));
  p = tile::fma(p, r, T::splat(4.1665795894e-2f));
  p = tile::fma(p, r, T::splat(1.6666665459e-1f));
  p = tile::fma(p, r, T::splat(5.0000001201e-1f));
  p = tile::fma(p * r, r, r) + T::splat(1.f);
  return scale_by_power(p, n);
}

WF_NAMESPACE_END
