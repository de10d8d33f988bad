// Normalisation of rows, in float32:
//
//   RMSNorm (Zhang and Sennrich 2019)    x / sqrt(mean(x^2) + eps) * (weight + weight_bias)
//   LayerNorm (Ba, Kiros, Hinton 2016)   (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight +
//   bias
#pragma once

#include "norm/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(norm)

WF_DEVICE char* row_of(const void* base, const Params& p, const i64 (&stride)[2], i64 row) {
  const i64 at = row / p.inner * stride[0] + row % p.inner * stride[1];
  return static_cast<char*>(const_cast<void*>(base)) + at * size_of(p.dtype);
}

/// One row. With a residual the sum is kept in float32 for the norm and rounded for the residual.
template <class Rows, DType dtype, DType weight_dtype, bool add, bool stream>
WF_DEVICE void rms_norm_row(const Params& p, i64 row, i64 next) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const char* x = row_of(p.x, p, p.x_stride, row);
  char* residual = add ? row_of(p.residual, p, p.residual_stride, row) : nullptr;
  char* out = row_of(p.out, p, p.out_stride, row);
  const char* next_x = row_of(p.x, p, p.x_stride, next);
  const auto value = [&](i64 column, int count) {
    E v = Rows::template load<dtype>(x, column, count);
    if constexpr (add) v = v + Rows::template load<dtype>(residual, column, count);
    return v;
  };
  const float squares = Rows::sum_columns(p.width, [&](i64 column, int count, E partial) {
    const E v = value(column, count);
    return tile::fma(v, v, partial);
  });
  const float mean = squares / static_cast<float>(p.width);
  const E factor = T::splat(1.f / tile::sqrt(mean + p.eps));
  const E weight_bias = T::splat(p.weight_bias);
  Rows::for_columns(p.width, [&](i64 column, int count) {
    Rows::prefetch(next_x + column * size_of(dtype));  // the loads of this pass come from the cache
    const E v = value(column, count);
    if constexpr (add) Rows::template store<dtype>(residual, column, count, v);
    const E w = Rows::template load<weight_dtype>(p.weight, column, count) + weight_bias;
    Rows::template store<dtype, stream>(out, column, count, v * factor * w);
  });
}

template <class Rows, DType dtype, bool stream>
WF_DEVICE void layer_norm_row(const Params& p, i64 row, i64 next) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const char* x = row_of(p.x, p, p.x_stride, row);
  const char* next_x = row_of(p.x, p, p.x_stride, next);
  char* out = row_of(p.out, p, p.out_stride, row);
  const float scale = 1.f / static_cast<float>(p.width);
  const float sum = Rows::sum_columns(p.width, [&](i64 column, int count, E partial) {
    return partial + Rows::template load<dtype>(x, column, count);
  });
  const E mean = T::splat(sum * scale);
  const float squares = Rows::sum_columns(p.width, [&](i64 column, int count, E partial) {
    const E v = Rows::template load<dtype>(x, column, count) - mean;
    return tile::fma(v, Rows::fill_behind(v, count, 0.f), partial);
  });
  const E factor = T::splat(1.f / tile::sqrt(squares * scale + p.eps));
  tile::with_output_dtype(p.weight_dtype, [&]<DType weight_dtype>() {
    tile::with_output_dtype(p.bias_dtype, [&]<DType bias_dtype>() {
      Rows::for_columns(p.width, [&](i64 column, int count) {
        Rows::prefetch(next_x + column * size_of(dtype));
        const E v = (Rows::template load<dtype>(x, column, count) - mean) * factor;
        E y = v * Rows::template load<weight_dtype>(p.weight, column, count);
        if (p.bias != nullptr) y = y + Rows::template load<bias_dtype>(p.bias, column, count);
        Rows::template store<dtype, stream>(out, column, count, y);
      });
    });
  });
}

template <class Rows, DType dtype, DType weight_dtype>
WF_DEVICE void rms_norm_rows(const Params& p, i64 begin, i64 end) {
  for (i64 row = begin; row < end; ++row) {
    const i64 next = row + 1 < end ? row + 1 : row;
    if (p.residual != nullptr) {
      rms_norm_row<Rows, dtype, weight_dtype, true, false>(p, row, next);
    } else if (p.stream && Rows::streamable(row_of(p.out, p, p.out_stride, row))) {
      rms_norm_row<Rows, dtype, weight_dtype, false, true>(p, row, next);
    } else {
      rms_norm_row<Rows, dtype, weight_dtype, false, false>(p, row, next);
    }
  }
  if (p.stream) Rows::finish_streaming();
}

template <class Rows, DType dtype>
WF_DEVICE void layer_norm_rows(const Params& p, i64 begin, i64 end) {
  for (i64 row = begin; row < end; ++row) {
    const i64 next = row + 1 < end ? row + 1 : row;
    if (p.stream && Rows::streamable(row_of(p.out, p, p.out_stride, row))) {
      layer_norm_row<Rows, dtype, true>(p, row, next);
    } else {
      layer_norm_row<Rows, dtype, false>(p, row, next);
    }
  }
  if (p.stream) Rows::finish_streaming();
}

WF_NAMESPACE_END
