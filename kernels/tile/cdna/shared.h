// Staged tiles of K and V in LDS. Both are read eight bytes a lane along the sum of the product, so
// V is stored transposed. Rows are padded by eight bytes: 32 lanes that read one column then fall
// into different pairs of the 32 banks.
#pragma once

#include "tile/cdna/pipeline.h"

WF_NAMESPACE_BEGIN(tile)

template <DType dtype_, int rows_, int cols_>
struct alignas(16) PaddedTile {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int chunk_elements = 16 / size_of(dtype);
  static constexpr int chunks = cols / chunk_elements;
  static constexpr int stride = cols + 4;
  u16 data[rows * stride];
};

/// Columns as rows.
template <DType dtype_, int rows_, int cols_>
struct alignas(16) TransposedTile {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int chunk_elements = 16 / size_of(dtype);
  static constexpr int chunks = cols / chunk_elements;
  static constexpr int stride = rows + 4;
  u16 data[cols * stride];
};

WF_NAMESPACE_END
