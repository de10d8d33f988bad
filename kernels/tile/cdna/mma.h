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

/// c = a b^T: rows of b are keys, four columns a lane.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void mfma_abt(Accumulator& c, const Operand& a, const Tile& b) {
  constexpr int groups = isa::mfma_columns / 8;
  const int lane = isa::thread_anew() & 63;  // or addresses would fill registers between tiles
  const u16* from = &b.data[Tile::offset(lane % 32, lane / 32 * 4)];
  WF_UNROLL
  for (int block = 0; block < Tile::rows / 32; ++block) {
    Float16 sum = {};
    WF_UNROLL
    for (int k = 0; k < Operand::cols / 8; k += groups) {
      Short4 rows[groups];
      WF_UNROLL
      for (int i = 0; i < groups; ++i) {
        rows[i] = *reinterpret_cast<const Short4*>(from + Tile::offset(block * 32, (k + i) * 8));
      }
      sum = isa::mfma_32x32<Operand::dtype>(rows, a.r + k, sum);
    }
    set_block(c, block, sum);
  }
  isa::read_ahead<Tile::rows / 32 * Operand::cols / isa::mfma_columns, groups>();
}

/// Columns from 32 `block` on of c += a b: b is stored with its columns as rows. `change` sees what
/// is multiplied: four values and the number of their first row of b.
template <class Accumulator, class Operand, class Tile, class Change>
WF_DEVICE void mfma_ab_block(Accumulator& c, const Operand& a, const Tile& b, int block, int lane,
                             Change&& change) {
  constexpr int groups = isa::mfma_columns / 8;
  const int base = Tile::lane_offset(lane);
  Float16 sum = block_of(c, block);
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 8; k += groups) {
    Short4 rows[groups];
    WF_UNROLL
    for (int i = 0; i < groups; ++i) {
      const u16* from = &b.data[Tile::four_offset(base, block, k + i)];
      rows[i] = change(*reinterpret_cast<const Short4*>(from), (k + i) * 8 + lane / 32 * 4);
    }
    sum = isa::mfma_32x32<Operand::dtype>(rows, a.r + k, sum);
  }
  set_block(c, block, sum);
}

/// c += a b.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void mfma_ab(Accumulator& c, const Operand& a, const Tile& b) {
  const int lane = isa::thread_anew() & 63;  // or addresses would fill registers between tiles
  WF_UNROLL
  for (int block = 0; block < Tile::cols / 32; ++block) {
    mfma_ab_block(c, a, b, block, lane, [](Short4 four, int) { return four; });
  }
  isa::read_ahead<Tile::cols / 32 * Operand::cols / isa::mfma_columns, isa::mfma_columns / 8>();
}

/// Rows of q from global memory into registers; columns behind the last dimension are zero.
template <class Operand, class Address>
WF_DEVICE void load_left_operand(Operand& to, i32 rows, i32 dims, int lane, Address&& address) {
  const i32 row = min(lane / 64 * 32 + lane % 32, rows - 1);
  const char* from = static_cast<const char*>(address(row));
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 8; ++k) {
    const int column = k * 8 + lane % 64 / 32 * 4;
    const bool inside = k * 8 < dims;
    const Short4 four = *reinterpret_cast<const Short4*>(from + (inside ? column : 0) * 2);
    to.r[k] = inside ? four : Short4{0, 0, 0, 0};
  }
}

WF_NAMESPACE_END
