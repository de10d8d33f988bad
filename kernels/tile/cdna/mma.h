// Matrix products by 32x32 MFMA (isa::mfma_32x32 of the architecture, included before). They
// compute the transposed product: what the tile layer calls the left operand is the instruction's
// right one.
#pragma once

#include "tile/cdna/shared.h"
#include "tile/cdna/wave.h"
#include "tile/fragment.h"

WF_NAMESPACE_BEGIN(tile)

/// Lane l holds, of each group of 8 columns, the four from 4 (l / 32) on, of row l % 32 of its
/// wave.
template <DType dtype_, int rows_, int cols_>
struct CdnaLeftOperand {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static_assert(rows % 32 == 0 && cols % isa::mfma_columns == 0 && size_of(dtype) == 2);
  Short4 r[cols / 8];
};

/// Four accumulators in a row are the four operand elements of the same lane.
template <class Operand, class Accumulator>
WF_DEVICE void relayout(Operand& to, const Accumulator& from) {
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 8; ++k) {
    WF_UNROLL
    for (int i = 0; i < 4; ++i) {
      to.r[k][i] = static_cast<short>(isa::round_to_16<Operand::dtype>(from.e[k * 4 + i]));
    }
  }
}

template <class Accumulator>
WF_DEVICE Float16 block_of(const Accumulator& c, int block) {
  Float16 r;
  WF_UNROLL
  for (int i = 0; i < 16; ++i) r[i] = c.e[block * 16 + i];
  return r;
}
template <class Accumulator>
WF_DEVICE void set_block(Accumulator& c, int block, Float16 r) {
  WF_UNROLL
  for (int i = 0; i < 16; ++i) c.e[block * 16 + i] = r[i];
}

/// This lane's four of the k-th eight columns of a row: of the lane's one of the 32 from `first`
/// on.
template <class Tile>
WF_DEVICE Short4 four_of_row(const Tile& tile, int lane, int first, int k) {
  const int at = Tile::offset(first + lane % 32, k * 8 + lane / 32 * 4);
  return *reinterpret_cast<const Short4*>(&tile.data[at]);
}

/// c = a b^T: rows of b are keys, four columns a lane.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void mfma_abt(Accumulator& c, const Operand& a, const Tile& b) {
  constexpr int groups = isa::mfma_columns / 8;
  const int lane = isa::thread_anew() & 63;  // or addresses would fill registers between tiles
  WF_UNROLL
  for (int block = 0; block < Tile::rows / 32; ++block) {
    Float16 sum = {};
    WF_UNROLL
    for (int k = 0; k < Operand::cols / 8; k += groups) {
      Short4 rows[groups];
      WF_UNROLL
      for (int i = 0; i < groups; ++i) rows[i] = four_of_row(b, lane, block * 32, k + i);
      sum = isa::mfma_32x32<Operand::dtype>(rows, a.r + k, sum);
    }
    set_block(c, block, sum);
  }
}

/// c += a b: b is stored with its columns as rows.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void mfma_ab(Accumulator& c, const Operand& a, const Tile& b) {
  constexpr int groups = isa::mfma_columns / 8;
  const int lane = isa::thread_anew() & 63;  // or addresses would fill registers between tiles
  WF_UNROLL
  for (int block = 0; block < Tile::cols / 32; ++block) {
    Float16 sum = block_of(c, block);
    WF_UNROLL
    for (int k = 0; k < Operand::cols / 8; k += groups) {
      Short4 rows[groups];
      WF_UNROLL
      for (int i = 0; i < groups; ++i) rows[i] = four_of_row(b, lane, block * 32, k + i);
      sum = isa::mfma_32x32<Operand::dtype>(rows, a.r + k, sum);
    }
    set_block(c, block, sum);
  }
}

/// Rows of q from global memory into registers; columns behind the last dimension are zero.
template <class Operand, class Address>
WF_DEVICE void load_left_operand(Operand& to, i32 rows, i32 dims, int lane, Address&& address) {
  const i32 row = min(lane / 64 * 32 + lane % 32, rows - 1);
  const char* from = static_cast<const char*>(address(row));
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 8; ++k) {
    const int column = k * 8 + lane % 64 / 32 * 4;
    to.r[k] =
        column < dims ? *reinterpret_cast<const Short4*>(from + column * 2) : Short4{0, 0, 0, 0};
  }
}

WF_NAMESPACE_END
