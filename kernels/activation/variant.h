// A gated activation whose function comes from the user:
//
//   struct Variant { template <class E> static E activate(E x); };
//
// E is the element of the target: a float, or a vector of columns with the same operators.
#pragma once

#include "activation/params.h"
#include "math/exp2.h"
#include "math/tanh.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(activation)

template <class Rows, DType dtype, class Variant>
WF_DEVICE void variant_rows(const Params& p, i64 begin, i64 end) {
  for (i64 row = begin; row < end; ++row) {
    const char* gate = static_cast<const char*>(p.x) + row * p.x_stride * size_of(dtype);
    const char* up = gate + p.width * size_of(dtype);
    char* out = static_cast<char*>(p.out) + row * p.out_stride * size_of(dtype);
    Rows::for_columns(p.width, [&](i64 column, int count) {
      const auto x = Variant::activate(Rows::template load<dtype>(gate, column, count));
      Rows::template store<dtype>(out, column, count,
                                  x * Rows::template load<dtype>(up, column, count));
    });
  }
}

WF_NAMESPACE_END
