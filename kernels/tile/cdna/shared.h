// Staged tiles of K and V in LDS. A lane reads what one instruction takes of it with one access: 8
// bytes on gfx942, 16 on gfx950, along the sum of the product. So V is stored transposed.
#pragma once

#include "tile/cdna/pipeline.h"

WF_NAMESPACE_BEGIN(tile)

/// Elements of a row or column that a lane gives to an instruction.
inline constexpr int mfma_unit = isa::mfma_columns / 2;

/// Rows are padded by one access: lanes that read one column of neighbouring rows then fall into
/// different banks, 16 lanes of 8 bytes into the 32 of gfx942, 16 lanes of 16 bytes into the 64 of
/// gfx950.
template <DType dtype_, int rows_, int cols_>
struct alignas(16) PaddedTile {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int chunk_elements = 16 / size_of(dtype);
  static constexpr int chunks = cols / chunk_elements;
  static constexpr int stride = cols + mfma_unit;
  static constexpr int offset(int row, int column) { return row * stride + column; }
  u16 data[rows * stride];
};

/// Columns as rows, in units of the keys that a lane gives to an instruction: of each 8, four from
/// 4 (l / 32) on. Units are swizzled: lanes write to columns eight apart and read neighbouring
/// ones.
template <DType dtype_, int rows_, int cols_>
struct alignas(16) TransposedTile {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static_assert(rows == 32 || rows == 64);
  static constexpr int chunk_elements = 16 / size_of(dtype);
  static constexpr int chunks = cols / chunk_elements;
  static constexpr int swizzle(int column) {
    const int c = column;
    if (mfma_unit == 4) return rows == 64 ? (c ^ c >> 3) & 15 : (c >> 1 ^ c >> 3) & 7;
    // Of 16 lanes that gfx950 serves at once, bits 2, 3 and 4 have an even or an odd sum.
    return rows == 64 ? (c >> 1 & 1) ^ (c >> 3 & 3) * 2 ^ (c >> 5 & 1) : (c >> 3 ^ c >> 5) & 3;
  }
  static constexpr int offset(int column, int key) {
    const int unit = key / isa::mfma_columns * 2 + key / 4 % 2;
    const int in_unit = key % isa::mfma_columns / 8 * 4 + key % 4;
    return column * rows + (unit ^ swizzle(column)) * mfma_unit + in_unit;
  }
  // A swizzle is a sum of bits of the column: where lanes and constants have different bits, a
  // constant is one xor behind what depends on the lane.
  /// Of what lane l reads first for a product: column l % 32, keys from l / 32 * 4 on.
  static constexpr int lane_offset(int lane) {
    const u32 column = static_cast<u32>(lane) % 32, unit = static_cast<u32>(lane) / 32;
    const u32 swizzled = unit ^ static_cast<u32>(swizzle(static_cast<int>(column)));
    return static_cast<int>(column * rows + swizzled * mfma_unit);
  }
  /// Of the same in column 32 block + l % 32, for step `step` of the sum.
  static constexpr int operand_offset(int lane_offset, int block, int step) {
    return (lane_offset ^ (step * 2 ^ swizzle(block * 32)) * mfma_unit) + block * 32 * rows;
  }
  /// Of column 8 n + i, from that of column 8 n and the same keys.
  static constexpr int next_column(int offset, int i) {
    return (offset ^ swizzle(i) * mfma_unit) + i * rows;
  }
  u16 data[cols * rows];
};

/// The short ways to an offset.
template <class Tile>
consteval bool offsets_agree() {
  for (int lane = 0; lane < 64; ++lane) {
    for (int block = 0; block < Tile::cols / 32; ++block) {
      for (int step = 0; step < Tile::rows / isa::mfma_columns; ++step) {
        const int key = step * isa::mfma_columns + lane / 32 * 4;
        const int offset = Tile::offset(block * 32 + lane % 32, key);
        if (Tile::operand_offset(Tile::lane_offset(lane), block, step) != offset) return false;
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

/// How often the most used bank is, when lanes that LDS serves at once read their units of columns
/// `step` apart: 16 neighbours and 32 banks on gfx942, 16 others and 64 banks on gfx950.
template <class Tile>
consteval int worst_bank(int step) {
  constexpr int lanes[2][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                {0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27}};
  constexpr int words = mfma_unit / 2, banks = mfma_unit == 4 ? 32 : 64;
  int worst = 0, used[64] = {};
  for (const int lane : lanes[mfma_unit == 4 ? 0 : 1]) {
    if (lane * step >= Tile::cols) continue;
    const int bank = Tile::offset(lane * step, 0) / 2 % banks;
    for (int i = 0; i < words; ++i) worst = ++used[bank + i] > worst ? used[bank + i] : worst;
  }
  return worst;
}
static_assert(worst_bank<TransposedTile<DType::bf16, 64, 128>>(1) == 1);
static_assert(worst_bank<TransposedTile<DType::bf16, 32, 128>>(1) == 1);

WF_NAMESPACE_END
