// Rotary embedding of one row in float32, for attention that rotates queries and keys itself.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(attention)

/// Rotates the pairs (i, i + dims / 2) by position * frequency[i] (Su et al. 2021, half-split
/// form). `values` [dims] has room for a whole vector behind its end.
template <class Arch>
WF_DEVICE void rotate_half_split(float* values, i32 dims, const float* frequency, i32 position) {
  using Element = typename Arch::Element;
  using Traits = tile::ElementTraits<Element>;
  const i32 half = dims / 2;
  const float at = static_cast<float>(position);
  i32 i = 0;
  for (; i + Traits::width <= half; i += Traits::width) {
    Element sine, cosine;
    Arch::sincos_product(Traits::splat(at), Traits::load(frequency + i), sine, cosine);
    const Element a = Traits::load(values + i);
    const Element b = Traits::load(values + half + i);
    Traits::store(values + i, a * cosine - b * sine);
    Traits::store(values + half + i, b * cosine + a * sine);
  }
  for (; i < half; ++i) {
    float sine, cosine;
    Arch::sincos_product(at, frequency[i], sine, cosine);
    const float a = values[i];
    const float b = values[half + i];
    values[i] = a * cosine - b * sine;
    values[half + i] = b * cosine + a * sine;
  }
}

WF_NAMESPACE_END
