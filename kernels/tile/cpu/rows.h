// Row operations on a CPU: a row is walked through in vectors, the last one partly filled.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(tile)

struct CpuRows {
  using Element = Vec;

  /// Calls f(column, count) for parts of up to one element's width.
  template <class F>
  WF_DEVICE static void for_columns(i64 width, F&& f) {
    i64 column = 0;
    for (; column + vec_width <= width; column += vec_width) f(column, vec_width);
    if (column < width) f(column, static_cast<int>(width - column));
  }

  /// `count` values from `column` on; the rest of the element is zero.
  template <DType dtype>
  WF_DEVICE static Vec load(const void* row, i64 column, int count) {
    const u8* p = static_cast<const u8*>(row) + column * size_of(dtype);
    return count == vec_width ? load_as<dtype>(p) : load_first_as<dtype>(p, count);
  }
  template <DType dtype>
  WF_DEVICE static void store(void* row, i64 column, int count, Vec value) {
    u8* p = static_cast<u8*>(row) + column * size_of(dtype);
    if (count == vec_width) {
      store_as<dtype>(p, value);
    } else {
      store_first_as<dtype>(p, value, count);
    }
  }

  /// The sum over all lanes that hold the row.
  WF_DEVICE static float total(Vec partial) { return reduce_add(partial); }
};

WF_NAMESPACE_END
