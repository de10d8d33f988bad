// Matrix products by mma.sync: the left operand in registers, the right one in swizzled tiles.
#pragma once

#include "tile/fragment.h"
#include "tile/sm80/shared.h"
#include "tile/sm80/wave.h"

WF_NAMESPACE_BEGIN(tile)

/// Left operand of m16n8k16 and wgmma.m64k16: lane l of a warp holds, of each group of 16 columns,
/// the pairs 2 (l % 4) + {0, 8} of the rows l / 4 and l / 4 + 8.
template <DType dtype_, int rows_, int cols_>
struct NvidiaLeftOperand {
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static_assert(rows == 64 && cols % 16 == 0);
  u32 r[cols / 16][4];
};

/// Two accumulator groups of 8 columns are one operand group of 16: the registers match in place.
template <class Operand, class Accumulator>
WF_DEVICE void relayout(Operand& to, const Accumulator& from) {
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 16; ++k) {
    WF_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int at = k * 8 + i / 2 * 4 + i % 2 * 2;
      to.r[k][i] = isa::pack<Operand::dtype>(from.e[at], from.e[at + 1]);
    }
  }
}

/// c = a b^T; b holds the columns of c as rows.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void mma_abt(Accumulator& c, const Operand& a, const Tile& b) {
  const u32 base = isa::shared_address(b.bytes);
  const int lane = isa::thread() % 32;
  WF_UNROLL
  for (int n = 0; n < Tile::rows / 8; ++n) {
    float* d = c.e + n * 4;
    d[0] = d[1] = d[2] = d[3] = 0.f;
    WF_UNROLL
    for (int k = 0; k < Operand::cols / 32; ++k) {
      u32 right[4];
      isa::load_matrix_x4(right, base + Tile::offset(n * 8 + lane % 8, k * 4 + lane / 8));
      isa::mma_16x8x16<Operand::dtype>(d, a.r[k * 2], right[0], right[1]);
      isa::mma_16x8x16<Operand::dtype>(d, a.r[k * 2 + 1], right[2], right[3]);
    }
  }
}

/// c += a b.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void mma_ab(Accumulator& c, const Operand& a, const Tile& b) {
  const u32 base = isa::shared_address(b.bytes);
  const int lane = isa::thread() % 32;
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 16; ++k) {
    WF_UNROLL
    for (int n = 0; n < Tile::cols / 16; ++n) {
      u32 right[4];
      const int row = k * 16 + lane / 8 % 2 * 8 + lane % 8;
      isa::load_matrix_x4_transposed(right, base + Tile::offset(row, n * 2 + lane / 16));
      isa::mma_16x8x16<Operand::dtype>(c.e + n * 8, a.r[k], right[0], right[1]);
      isa::mma_16x8x16<Operand::dtype>(c.e + n * 8 + 4, a.r[k], right[2], right[3]);
    }
  }
}

/// Rows of q from global memory into registers; columns behind the last dimension are zero.
template <class Operand, class Address>
WF_DEVICE void load_left_operand(Operand& to, i32 rows, i32 dims, int lane, Address&& address) {
  const int row0 = lane / 32 * 16 + lane % 32 / 4;
  WF_UNROLL
  for (int half = 0; half < 2; ++half) {
    const char* row = static_cast<const char*>(address(min(row0 + 8 * half, rows - 1)));
    WF_UNROLL
    for (int k = 0; k < Operand::cols / 16; ++k) {
      WF_UNROLL
      for (int pair = 0; pair < 2; ++pair) {
        const int column = k * 16 + pair * 8 + lane % 4 * 2;
        const bool valid = column < dims;
        const u32 value = *reinterpret_cast<const u32*>(row + (valid ? column * 2 : 0));
        to.r[k][pair * 2 + half] = valid ? value : 0;
      }
    }
  }
}

WF_NAMESPACE_END
