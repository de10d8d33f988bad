// Joining attention states over disjoint keys: the mean of their values weighted by exp2(LSE).
#pragma once

#include "math/exp2.h"
#include "math/log2.h"
#include "merge/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(merge)

/// The weight of state i beside one of LSE `top`. 0 for an empty one.
WF_DEVICE float weight_of(const States& states, i64 i, float top) {
  return math::exp2(states.s[i * states.s_stride] - top);
}

/// The weighted mean of the states' rows goes to `out`; returns their joint LSE. A state of weight
/// 0 does not count, whatever its values hold; a single state passes through to the bit.
template <class Rows, DType dtype, DType out_dtype>
WF_DEVICE float merge_row(const States& states, i64 dim, char* out) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  float top = -tile::infinity;
  for (i64 i = 0; i < states.count; ++i) top = tile::max(states.s[i * states.s_stride], top);
  if (!(top > -tile::infinity)) top = 0.f;  // empty ones weigh exp2(-inf), a NaN stays one
  float total = 0.f;
  for (i64 i = 0; i < states.count; ++i) total += weight_of(states, i, top);
  const E factor = T::splat(total == 0.f ? 1.f : 1.f / total);
  Rows::for_packs(dim, [&]<int size>(i64 column, int count) {
    E sum[size];
    bool empty = true;
    for (i64 i = 0; i < states.count; ++i) {
      const float weight = weight_of(states, i, top);
      if (weight == 0.f) continue;
      const char* row = states.v + i * states.v_stride;
      for (int k = 0; k < size; ++k) {
        const E v =
            Rows::template load<dtype>(row, column + k * Rows::stride, count) * T::splat(weight);
        sum[k] = empty ? v : sum[k] + v;
      }
      empty = false;
    }
    for (int k = 0; k < size; ++k) {
      const E s = empty ? T::splat(0.f) : sum[k];
      Rows::template store<out_dtype>(out, column + k * Rows::stride, count,
                                      total == 1.f ? s : s * factor);
    }
  });
  return total == 0.f ? -tile::infinity : top + math::log2(total);
}

WF_NAMESPACE_END
