// activation(gate) * up, in float32.
#pragma once

#include "activation/params.h"
#include "math/tanh.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(activation)

/// x * sigmoid(x).
template <class E>
WF_DEVICE E silu(E x) {
  using T = tile::ElementTraits<E>;
  return x / (T::splat(1.f) + math::exp(-x));
}

/// x * Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016).
template <class E>
WF_DEVICE E gelu(E x) {
  return x * math::normal_cdf(x);
}

/// Its approximation x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <class E>
WF_DEVICE E gelu_tanh(E x) {
  using T = tile::ElementTraits<E>;
  const E inner = tile::fma(x * x * x, T::splat(0.044715f), x) * T::splat(0.7978845608f);
  return x * T::splat(0.5f) * (T::splat(1.f) + math::tanh(inner));
}

template <class Rows, DType dtype, Kind kind>
WF_DEVICE void gated_rows(const Params& p, i64 begin, i64 end) {
  using E = typename Rows::Element;
  for (i64 row = begin; row < end; ++row) {
    const char* gate = static_cast<const char*>(p.x) + row * p.x_stride * size_of(dtype);
    const char* up = gate + p.width * size_of(dtype);
    char* out = static_cast<char*>(p.out) + row * p.out_stride * size_of(dtype);
    Rows::for_columns(p.width, [&](i64 column, int count) {
      E a = Rows::template load<dtype>(gate, column, count);
      if constexpr (kind == Kind::silu) a = silu(a);
      if constexpr (kind == Kind::gelu) a = gelu(a);
      if constexpr (kind == Kind::gelu_tanh) a = gelu_tanh(a);
      Rows::template store<dtype>(out, column, count,
                                  a * Rows::template load<dtype>(up, column, count));
    });
  }
}

WF_NAMESPACE_END
