// Staged tiles on a CPU: float32 copies of KV rows, close to the core, laid out for the product
// that reads them.
#pragma once

#include "tile/cpu/wave.h"

WF_NAMESPACE_BEGIN(tile)

inline constexpr int cache_line = 64;

/// Row after row. Columns behind the last dimension are zero up to the next whole vector.
template <int rows_, int cols_>
struct alignas(64) RowTile {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr DType dtype = DType::f32;
  static constexpr int granule = vec_width;  // columns that are read together
  float data[rows][cols];
};

/// Rows where they lie, for products with few left rows, that touch each element too seldom to
/// repay a copy. Rows that have to be changed first are staged and pointed to; `Staged` is RowTile
/// or, for products of bf16 pairs, PairRows (pairs.h).
template <int rows_, int cols_, template <int, int> class Staged = RowTile>
struct alignas(64) DirectTile {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  const void* row[rows];
  const void* next[rows];  // of the tile after this one: to be fetched meanwhile
  i32 next_count;
  DType dtype;
  Staged<rows, cols> staged;

  /// Makes row k zero. Zero bytes are zero in every type.
  WF_DEVICE void clear(int k) {
    for (auto& value : staged.data[k]) value = 0;
    row[k] = staged.data[k];
  }
};

/// Transposed panels of `panel` rows: data[row / panel][column][row % panel].
template <int rows_, int cols_>
struct alignas(64) PanelTile {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int panel = block_vectors * vec_width;
  static_assert(rows % panel == 0);
  float data[rows / panel][cols][panel];
};

WF_DEVICE int round_up_to_vector(int n) { return (n + vec_width - 1) / vec_width * vec_width; }

template <int panel>
WF_DEVICE int round_up_to_panel(int n) {
  return (n + panel - 1) / panel * panel;
}

/// Converts `dims` elements of `dtype` to float32 and touches nothing behind them.
template <DType dtype>
WF_DEVICE void widen_row(float* to, const void* from, int dims) {
  const u8* bytes = static_cast<const u8*>(from);
  int d = 0;
  for (; d + vec_width <= dims; d += vec_width) {
    ElementTraits<Vec>::store(to + d, load_as<dtype>(bytes + d * size_of(dtype)));
  }
  if (d < dims) {
    store_first_as<DType::f32>(to + d, load_first_as<dtype>(bytes + d * size_of(dtype), dims - d),
                               dims - d);
  }
}

/// Zeros from column `dims` to the next whole vector: products read whole vectors.
WF_DEVICE void pad_row(float* row, int dims) {
  for (int d = dims; d < round_up_to_vector(dims); ++d) row[d] = 0.f;
}

WF_NAMESPACE_END
