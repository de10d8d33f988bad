// RMSNorm (Zhang and Sennrich 2019): x / sqrt(mean(x^2) + eps) * (weight + weight_bias), in
// float32.
#pragma once

#include "norm/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(norm)

WF_DEVICE char* row_of(void* base, const Params& p, const i64 (&stride)[2], i64 row) {
  const i64 at = row / p.inner * stride[0] + row % p.inner * stride[1];
  return static_cast<char*>(base) + at * size_of(p.dtype);
}

/// One row. With a residual the sum is kept in float32 for the norm and rounded for the residual.
template <class Rows, DType dtype, DType weight_dtype, bool add>
WF_DEVICE void rms_norm_row(const Params& p, i64 row) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const char* x = row_of(const_cast<void*>(p.x), p, p.x_stride, row);
  char* residual = add ? row_of(p.residual, p, p.residual_stride, row) : nullptr;
  char* out = row_of(p.out, p, p.out_stride, row);
  const auto value = [&](i64 column, int count) {
    E v = Rows::template load<dtype>(x, column, count);
    if constexpr (add) v = v + Rows::template load<dtype>(residual, column, count);
    return v;
  };
  E squares = T::splat(0.f);
  Rows::for_columns(p.width, [&](i64 column, int count) {
    const E v = value(column, count);
    squares = tile::fma(v, v, squares);
  });
  const float mean = Rows::total(squares) / static_cast<float>(p.width);
  const E factor = T::splat(1.f / tile::sqrt(mean + p.eps));
  Rows::for_columns(p.width, [&](i64 column, int count) {
    const E v = value(column, count);
    if constexpr (add) Rows::template store<dtype>(residual, column, count, v);
    const E w =
        Rows::template load<weight_dtype>(p.weight, column, count) + T::splat(p.weight_bias);
    Rows::template store<dtype>(out, column, count, v * factor * w);
  });
}

template <class Rows, DType dtype, DType weight_dtype>
WF_DEVICE void rms_norm_rows(const Params& p, i64 begin, i64 end) {
  for (i64 row = begin; row < end; ++row) {
    if (p.residual != nullptr) {
      rms_norm_row<Rows, dtype, weight_dtype, true>(p, row);
    } else {
      rms_norm_row<Rows, dtype, weight_dtype, false>(p, row);
    }
  }
}

WF_NAMESPACE_END
