// Staged tiles of sm_80: rows of 16-byte chunks, swizzled so that the eight rows of an ldmatrix
// fall into different banks.
#pragma once

#include "tile/sm80/isa.h"

WF_NAMESPACE_BEGIN(tile)

template <DType dtype_, int rows_, int cols_>
struct alignas(128) SwizzledTile {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int chunk_elements = 16 / size_of(dtype);
  static constexpr int chunks = cols / chunk_elements;  // of a row
  static_assert(chunks == 4 || chunks % 8 == 0, "a row is 64 bytes or a multiple of 128");
  u8 bytes[rows * chunks * 16];

  /// What a row's chunks are exchanged by. Rows are a multiple of 32 banks apart, so that without
  /// it the same chunk of eight rows would share four banks; rows of 64 bytes lie two by two.
  static constexpr int swizzle(int row) { return chunks == 4 ? row >> 1 & 3 : row & 7; }
  static constexpr int swizzle_mask = chunks == 4 ? 3 : 7;
  /// Byte offset of a chunk.
  static constexpr int offset(int row, int chunk) {
    return (row * chunks + (chunk ^ swizzle(row))) * 16;
  }
  /// The address `rows` rows and `columns` chunks behind the chunk at `address`: what differs
  /// between lanes is computed once, the rest is constants. `rows` and `columns` share no bit with
  /// the row and the chunk at `address` (of eight rows, and of eight chunks).
  static constexpr u32 moved(u32 address, int rows, int columns) {
    return (address ^ static_cast<u32>((swizzle(rows) ^ columns) & swizzle_mask) * 16) +
           static_cast<u32>(rows * chunks + (columns & ~swizzle_mask)) * 16;
  }
};

/// `moved` agrees with `offset` for moves by multiples of `rows` and `columns`, powers of two, from
/// rows and chunks below these.
template <class Tile, int rows, int columns>
consteval bool is_movable() {
  for (int row = 0; row < Tile::rows; ++row) {
    for (int chunk = 0; chunk < Tile::chunks; ++chunk) {
      const u32 from = static_cast<u32>(Tile::offset(row % rows, chunk % columns));
      const u32 to = Tile::moved(from, row / rows * rows, chunk / columns * columns);
      if (to != static_cast<u32>(Tile::offset(row, chunk))) return false;
    }
  }
  return true;
}

/// Eight neighbouring rows of one chunk column cover all 32 banks.
template <class Tile>
consteval bool is_conflict_free() {
  for (int row = 0; row < Tile::rows; row += 8) {
    for (int chunk = 0; chunk < Tile::chunks; ++chunk) {
      u32 banks = 0;
      for (int i = 0; i < 8; ++i) banks |= u32{0xf} << (Tile::offset(row + i, chunk) / 4 % 32);
      if (banks != 0xffffffffu) return false;
    }
  }
  return true;
}
static_assert(is_conflict_free<SwizzledTile<DType::e4m3fn, 16, 64>>());
static_assert(is_conflict_free<SwizzledTile<DType::bf16, 16, 64>>());
static_assert(is_conflict_free<SwizzledTile<DType::bf16, 16, 128>>());
static_assert(is_conflict_free<SwizzledTile<DType::bf16, 16, 256>>());

WF_NAMESPACE_END
