// Staged tiles of K and V in LDS. Both are read eight bytes a lane along the sum of the product, so
// V is stored transposed.
#pragma once

#include "tile/cdna/pipeline.h"

WF_NAMESPACE_BEGIN(tile)

/// Rows are padded by eight bytes: 16 lanes that read one column of neighbouring rows then fall
/// into different pairs of the 32 banks, and 32 lanes into those of gfx950's 64.
template <DType dtype_, int rows_, int cols_>
struct alignas(16) PaddedTile {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int chunk_elements = 16 / size_of(dtype);
  static constexpr int chunks = cols / chunk_elements;
  static constexpr int stride = cols + 4;
  static constexpr int offset(int row, int column) { return row * stride + column; }
  u16 data[rows * stride];
};

/// Columns as rows, in groups of four keys, swizzled: lanes write a group of columns eight apart,
/// and read one of neighbouring columns.
template <DType dtype_, int rows_, int cols_>
struct alignas(16) TransposedTile {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static_assert(rows == 32 || rows == 64);
  static constexpr int chunk_elements = 16 / size_of(dtype);
  static constexpr int chunks = cols / chunk_elements;
  static constexpr int swizzle(int column) {
    return rows == 64 ? (column ^ column >> 3) & 15 : (column >> 1 ^ column >> 3) & 7;
  }
  static constexpr int offset(int column, int key) {
    return column * rows + (key / 4 ^ swizzle(column)) * 4 + key % 4;
  }
  u16 data[cols * rows];
};

/// How often the most used of 32 banks is, when 16 lanes access eight bytes: of one group of keys
/// in columns `step` apart.
template <class Tile>
consteval int worst_bank(int step) {
  int worst = 0;
  for (int first = 0; first + 15 * step < Tile::cols; first += step * 16) {
    int used[32] = {};
    for (int lane = 0; lane < 16; ++lane) {
      const int bank = Tile::offset(first + lane * step, 0) / 2 % 32;
      for (int i = 0; i < 2; ++i) worst = ++used[bank + i] > worst ? used[bank + i] : worst;
    }
  }
  return worst;
}
static_assert(worst_bank<TransposedTile<DType::bf16, 64, 128>>(1) == 1);
static_assert(worst_bank<TransposedTile<DType::bf16, 64, 128>>(8) == 1);
static_assert(worst_bank<TransposedTile<DType::bf16, 32, 128>>(1) == 1);
static_assert(worst_bank<TransposedTile<DType::bf16, 32, 128>>(8) == 2);  // there are eight groups

WF_NAMESPACE_END
