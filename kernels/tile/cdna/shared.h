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
  // A swizzle is a sum of bits of the column: where lanes and constants have different bits, a
  // constant is one xor behind what depends on the lane.
  /// Of what lane l reads first for a product: column l % 32, keys from l / 32 * 4 on.
  static constexpr int lane_offset(int lane) {
    const u32 column = static_cast<u32>(lane) % 32, group = static_cast<u32>(lane) / 32;
    const u32 swizzled = group ^ static_cast<u32>(swizzle(static_cast<int>(column)));
    return static_cast<int>(column * rows + swizzled * 4);
  }
  /// Of the same in column 32 block + l % 32, keys from 8 k on.
  static constexpr int four_offset(int lane_offset, int block, int k) {
    return (lane_offset ^ (k * 2 ^ swizzle(block * 32)) * 4) + block * 32 * rows;
  }
  /// Of column 8 n + i, from that of column 8 n and the same keys.
  static constexpr int next_column(int offset, int i) {
    return (offset ^ swizzle(i) * 4) + i * rows;
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
/// The two short ways to an offset.
template <class Tile>
consteval bool offsets_agree() {
  for (int lane = 0; lane < 64; ++lane) {
    for (int block = 0; block < Tile::cols / 32; ++block) {
      for (int k = 0; k < Tile::rows / 8; ++k) {
        const int offset = Tile::offset(block * 32 + lane % 32, k * 8 + lane / 32 * 4);
        if (Tile::four_offset(Tile::lane_offset(lane), block, k) != offset) return false;
      }
    }
  }
  for (int column = 0; column < Tile::cols; ++column) {
    for (int key = 0; key < Tile::rows; key += 4) {
      const int first = Tile::offset(column / 8 * 8, key);
      if (Tile::next_column(first, column % 8) != Tile::offset(column, key)) return false;
    }
  }
  return true;
}
static_assert(offsets_agree<TransposedTile<DType::bf16, 64, 64>>());
static_assert(offsets_agree<TransposedTile<DType::bf16, 32, 256>>());

static_assert(worst_bank<TransposedTile<DType::bf16, 64, 128>>(1) == 1);
static_assert(worst_bank<TransposedTile<DType::bf16, 64, 128>>(8) == 1);
static_assert(worst_bank<TransposedTile<DType::bf16, 32, 128>>(1) == 1);
static_assert(worst_bank<TransposedTile<DType::bf16, 32, 128>>(8) == 2);  // there are eight groups

WF_NAMESPACE_END
