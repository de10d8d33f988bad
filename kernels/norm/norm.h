// Normalisation of rows, in float32:
//
//   RMSNorm (Zhang and Sennrich 2019)    x / sqrt(mean(x^2) + eps) * (weight + weight_bias)
//   LayerNorm (Ba, Kiros, Hinton 2016)   (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight +
//   bias
#pragma once

#include "norm/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(norm)

/// Where a row lies.
struct Index {
  i64 outer, inner;
};

WF_DEVICE Index index_of(const Params& p, i64 row) {
  if (p.inner == 1) return {row, 0};  // a division costs as much as a short row
  const i64 outer = row / p.inner;
  return {outer, row - outer * p.inner};
}

template <DType dtype>
WF_DEVICE char* row_at(const void* base, const i64 (&stride)[2], Index at) {
  const i64 elements = at.outer * stride[0] + at.inner * stride[1];
  return static_cast<char*>(const_cast<void*>(base)) + elements * size_of(dtype);
}

/// One row. With a residual the sum is kept in float32 for the norm and rounded for the residual.
template <class Rows, DType dtype, DType weight_dtype, bool add, bool stream>
WF_DEVICE void rms_norm_row(const Params& p, i64 row, i64 next) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const Index at = index_of(p, row);
  const char* x = row_at<dtype>(p.x, p.x_stride, at);
  char* residual = add ? row_at<dtype>(p.residual, p.residual_stride, at) : nullptr;
  char* out = row_at<dtype>(p.out, p.out_stride, at);
  const char* next_x = row_at<dtype>(p.x, p.x_stride, index_of(p, next));
  const auto values = Rows::hold(p.width, [&](i64 column, int count) {
    E v = Rows::template load<dtype>(x, column, count);
    if constexpr (add) v = v + Rows::template load<dtype>(residual, column, count);
    return v;
  });
  const float squares = values.sum([](E v, int, E partial) { return tile::fma(v, v, partial); });
  const float mean = squares / static_cast<float>(p.width);
  const E factor = T::splat(Rows::reciprocal_sqrt(mean + p.eps));
  const E weight_bias = T::splat(p.weight_bias);
  values.for_each([&](i64 column, int count, E v) {
    Rows::prefetch(next_x + column * size_of(dtype));  // the loads of this pass come from the cache
    if constexpr (add) Rows::template store<dtype>(residual, column, count, v);
    const E w = Rows::template load<weight_dtype>(p.weight, column, count) + weight_bias;
    Rows::template store<dtype, stream>(out, column, count, v * factor * w);
  });
}

template <class Rows, DType dtype, bool stream>
WF_DEVICE void layer_norm_row(const Params& p, i64 row, i64 next) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const Index at = index_of(p, row);
  const char* x = row_at<dtype>(p.x, p.x_stride, at);
  const char* next_x = row_at<dtype>(p.x, p.x_stride, index_of(p, next));
  char* out = row_at<dtype>(p.out, p.out_stride, at);
  const float scale = 1.f / static_cast<float>(p.width);
  const auto values = Rows::hold(
      p.width, [&](i64 column, int count) { return Rows::template load<dtype>(x, column, count); });
  const E mean = T::splat(values.sum([](E v, int, E partial) { return partial + v; }) * scale);
  const float squares = values.sum([&](E v, int count, E partial) {
    const E difference = v - mean;
    return tile::fma(difference, Rows::fill_behind(difference, count, 0.f), partial);
  });
  const E factor = T::splat(Rows::reciprocal_sqrt(squares * scale + p.eps));
  tile::with_output_dtype(p.weight_dtype, [&]<DType weight_dtype>() {
    tile::with_output_dtype(p.bias_dtype, [&]<DType bias_dtype>() {
      values.for_each([&](i64 column, int count, E v) {
        Rows::prefetch(next_x + column * size_of(dtype));
        E y = (v - mean) * factor * Rows::template load<weight_dtype>(p.weight, column, count);
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
    } else if (p.stream && Rows::streamable(row_at<dtype>(p.out, p.out_stride, index_of(p, row)))) {
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
    if (p.stream && Rows::streamable(row_at<dtype>(p.out, p.out_stride, index_of(p, row)))) {
      layer_norm_row<Rows, dtype, true>(p, row, next);
    } else {
      layer_norm_row<Rows, dtype, false>(p, row, next);
    }
  }
  if (p.stream) Rows::finish_streaming();
}

WF_NAMESPACE_END
