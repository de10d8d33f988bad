// activation(gate) * up, in float32. Results that are rounded to 16-bit types come from shorter
// polynomials and an approximate reciprocal, whose error is less than half a unit in the last place
// of float16, and a tenth of one of bfloat16.
#pragma once

#include "activation/params.h"
#include "math/tanh.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(activation)

/// silu(x) = x / (1 + e^-x)
/// gelu_tanh(x) = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3)
/// gelu(x) = x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016)
template <Kind kind, bool exact, class E>
WF_DEVICE E argument(E x) {
  using T = tile::ElementTraits<E>;
  constexpr float log2_e = 1.44269504f;
  if constexpr (kind == Kind::silu) return exact ? -x : x * T::splat(-log2_e);
  if constexpr (kind == Kind::gelu_tanh) {
    constexpr float factor = -2 * 0.7978845608f * (exact ? 1.f : log2_e);
    return x * tile::fma(x * x, T::splat(0.044715f * factor), T::splat(factor));
  }
  if constexpr (exact) return math::log_normal_tail(x);
  // -log2(Phi(x) / Phi(-x)) = -x P(|x|): minimax on |x| <= 5.5, where the rest of Phi is 2e-8;
  // linear further out. Phi has a relative error of 1.3e-4.
  const E t = tile::min(T::splat(5.5f), tile::abs(x));
  E p = tile::fma(t, T::splat(5.473808415e-5f), T::splat(-1.180918887e-3f));
  p = tile::fma(p, t, T::splat(9.266392328e-3f));
  p = tile::fma(p, t, T::splat(-2.446516603e-2f));
  p = tile::fma(p, t, T::splat(-7.446514815e-2f));
  p = tile::fma(p, t, T::splat(-1.686383039e-2f));
  p = tile::fma(p, t, T::splat(-2.299122810e+0f));
  return x * p;
}

template <Kind kind, bool exact, class E>
WF_DEVICE E finish(E x, E power) {
  using T = tile::ElementTraits<E>;
  if constexpr (kind == Kind::gelu && exact) return x * math::normal_cdf_from(x, power);
  const E denominator = T::splat(1.f) + power;
  if constexpr (exact) return x / denominator;
  return x * tile::reciprocal_short(denominator);
}

/// `size` elements, the first at `column`, step by step for all of them: one after the other they
/// would keep the processor waiting, whose window does not hold enough of them to hide the time
/// that one takes. `count` is less than an element's width in the last element of a row only.
template <class Rows, DType dtype, Kind kind, bool stream, int size>
WF_DEVICE void gated_pack(const char* gate, const char* up, char* out, i64 column, int count) {
  using E = typename Rows::Element;
  constexpr bool exact = dtype == DType::f32;
  E x[size], y[size];
  for (int i = 0; i < size; ++i) {
    x[i] = Rows::template load<dtype>(gate, column + i * Rows::stride, count);
  }
  for (int i = 0; i < size; ++i) y[i] = argument<kind, exact>(x[i]);
  for (int i = 0; i < size; ++i) {
    if constexpr (exact) {
      y[i] = math::exp(y[i]);
    } else {
      y[i] = math::exp2_short<dtype == DType::bf16 ? 13 : 18>(y[i]);
    }
  }
  for (int i = 0; i < size; ++i) y[i] = finish<kind, exact>(x[i], y[i]);
  for (int i = 0; i < size; ++i) {
    y[i] = y[i] * Rows::template load<dtype>(up, column + i * Rows::stride, count);
  }
  for (int i = 0; i < size; ++i) {
    Rows::template store<dtype, stream>(out, column + i * Rows::stride, count, y[i]);
  }
}

template <class Rows, DType dtype, Kind kind, bool stream>
WF_DEVICE void gated_row(const Params& p, i64 row, i64 next) {
  const char* gate = static_cast<const char*>(p.x) + row * p.x_stride * size_of(dtype);
  const char* next_gate = gate + (next - row) * p.x_stride * size_of(dtype);
  const i64 up = p.width * size_of(dtype);
  char* out = static_cast<char*>(p.out) + row * p.out_stride * size_of(dtype);
  Rows::for_packs(p.width, [&]<int size>(i64 column, int count) {
    if constexpr (size == Rows::pack) {
      constexpr i64 bytes = size * Rows::stride * size_of(dtype);
      Rows::prefetch(next_gate + column * size_of(dtype), bytes);
      Rows::prefetch(next_gate + up + column * size_of(dtype), bytes);
    }
    gated_pack<Rows, dtype, kind, stream, size>(gate, gate + up, out, column, count);
  });
}

template <class Rows, DType dtype, Kind kind>
WF_DEVICE void gated_rows(const Params& p, i64 begin, i64 end) {
  for (i64 row = begin; row < end; ++row) {
    const i64 next = row + 1 < end ? row + 1 : row;
    const char* out = static_cast<const char*>(p.out) + row * p.out_stride * size_of(dtype);
    if (p.stream && Rows::streamable(out)) {
      gated_row<Rows, dtype, kind, true>(p, row, next);
    } else {
      gated_row<Rows, dtype, kind, false>(p, row, next);
    }
  }
  if (p.stream) Rows::finish_streaming();
}

WF_NAMESPACE_END
