// 2^x and e^x for any element type. Error below 2 ulp over the whole range, results gradually
// underflow, infinities and NaN go through.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(math)

/// 2^x. The fraction f in [-1/2, 1/2] goes through a polynomial of degree 6 (minimax, relative
/// error 2^-26.6).
template <class E>
WF_DEVICE E exp2(E x) {
  using T = tile::ElementTraits<E>;
  E n;
  const E f = tile::split_whole(x, n);
  E p = T::splat(1.535336188e-4f);
  p = tile::fma(p, f, T::splat(1.339887440e-3f));
  p = tile::fma(p, f, T::splat(9.618437357e-3f));
  p = tile::fma(p, f, T::splat(5.550332471e-2f));
  p = tile::fma(p, f, T::splat(2.402264791e-1f));
  p = tile::fma(p, f, T::splat(6.931472028e-1f));
  p = tile::fma(p, f, T::splat(1.f));
  return tile::scale_by_power(p, n);
}

/// The same to `bits` bits, 13 or 18, for results that are rounded to 16-bit types (minimax of
/// degree 3 and 4).
template <int bits, class E>
WF_DEVICE E exp2_short(E x) {
  using T = tile::ElementTraits<E>;
  static_assert(bits == 13 || bits == 18);
  E n;
  const E f = tile::split_whole(x, n);
  E p;
  if constexpr (bits == 13) {
    p = tile::fma(f, T::splat(5.500893110e-2f), T::splat(2.422109593e-1f));
    p = tile::fma(p, f, T::splat(6.932829271e-1f));
  } else {
    p = tile::fma(f, T::splat(9.582853094e-3f), T::splat(5.590642460e-2f));
    p = tile::fma(p, f, T::splat(2.402409861e-1f));
    p = tile::fma(p, f, T::splat(6.931241934e-1f));
  }
  p = tile::fma(p, f, T::splat(1.f));
  return tile::scale_by_power(p, n);
}

/// e^x = 2^n e^r with r = x - n ln 2, ln 2 in two parts (Cody and Waite 1980).
template <class E>
WF_DEVICE E exp(E x) {
  using T = tile::ElementTraits<E>;
  // The bounds come first: a comparison with NaN is false and leaves x.
  x = tile::min(T::splat(89.f), x);
  x = tile::max(T::splat(-104.f), x);
  E n;
  tile::split_whole(x * T::splat(1.44269504f), n);
  E r = tile::fma(n, T::splat(-0.693359375f), x);
  r = tile::fma(n, T::splat(2.12194440e-4f), r);
  E p = T::splat(1.9875691500e-4f);
  p = tile::fma(p, r, T::splat(1.3981999507e-3f));
  p = tile::fma(p, r, T::splat(8.3334519073e-3f));
  p = tile::fma(p, r, T::splat(4.1665795894e-2f));
  p = tile::fma(p, r, T::splat(1.6666665459e-1f));
  p = tile::fma(p, r, T::splat(5.0000001201e-1f));
  p = tile::fma(p * r, r, r) + T::splat(1.f);
  return tile::scale_by_power(p, n);
}

WF_NAMESPACE_END
