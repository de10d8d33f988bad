// Sine and cosine of a product, for rotary positions.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(math)

/// Sine and cosine of a * (b + b_low). The product is taken exactly (in two floats), so that the
/// result has an absolute error below 2e-7 for |a * b| up to 2^24, where the rounded product alone
/// would be off by 1, and so would be one with a rounded factor. Reduction by k pi/2 with pi/2
/// in three parts (Cody and Waite 1980), polynomials of Cephes.
template <class E>
WF_DEVICE void sincos_product(E a, E b, E b_low, E& sine, E& cosine) {
  using T = tile::ElementTraits<E>;
  const E high = a * b;
  const E low = tile::fma(a, b_low, tile::fma(a, b, -high));
  const auto first_quadrant = tile::round_to_int(high * T::splat(0.636619772f));
  const E k = tile::to_float(first_quadrant);
  E r = tile::fma(k, T::splat(-1.57079637e+0f), high);
  r = tile::fma(k, T::splat(4.37113883e-8f), r);
  r = tile::fma(k, T::splat(1.71512451e-15f), r);
  r = r + low;
  // For large products `low` alone can be larger than a quadrant.
  const auto rest = tile::round_to_int(r * T::splat(0.636619772f));
  const E k_rest = tile::to_float(rest);
  r = tile::fma(k_rest, T::splat(-1.57079637e+0f), r);
  r = tile::fma(k_rest, T::splat(4.37113883e-8f), r);
  const auto quadrant = first_quadrant + rest;
  const E z = r * r;
  E s = T::splat(-1.9515295891e-4f);
  s = tile::fma(s, z, T::splat(8.3321608736e-3f));
  s = tile::fma(s, z, T::splat(-1.6666654611e-1f));
  s = tile::fma(s * z, r, r);
  E c = T::splat(2.443315711809948e-5f);
  c = tile::fma(c, z, T::splat(-1.388731625493765e-3f));
  c = tile::fma(c, z, T::splat(4.166664568298827e-2f));
  c = tile::fma(c, z * z, tile::fma(z, T::splat(-0.5f), T::splat(1.f)));
  const auto one = T::splat_int(1);
  const auto swap = tile::equal(quadrant & 1, one);
  const auto negate_sine = (quadrant & 2) << 30;
  const auto negate_cosine = ((quadrant + 1) & 2) << 30;
  sine = tile::from_bits(tile::to_bits(tile::select(swap, c, s)) ^ negate_sine);
  cosine = tile::from_bits(tile::to_bits(tile::select(swap, s, c)) ^ negate_cosine);
}

template <class E>
WF_DEVICE void sincos_product(E a, E b, E& sine, E& cosine) {
  sincos_product(a, b, tile::ElementTraits<E>::splat(0.f), sine, cosine);
}

WF_NAMESPACE_END
