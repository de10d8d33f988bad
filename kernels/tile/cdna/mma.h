// Matrix products by 32x32 MFMA (isa::mfma_32x32 of the architecture, included before). They
// compute the transposed product: what the tile layer calls the left operand is the instruction's
// right one.
#pragma once

#include "tile/cdna/shared.h"
#include "tile/cdna/wave.h"
#include "tile/fragment.h"

WF_NAMESPACE_BEGIN(tile)

/// Lane l holds columns of row l % 32 of its wave: of weights, of each 8 the four from 4 (l / 32)
/// on; of queries, whose order need only be that of keys, a unit of each two side by side.
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
    const float* e = &from.e[k * 4];
    const Word2 words = {isa::pack_weights<Operand::dtype>(e[0], e[1]),
                         isa::pack_weights<Operand::dtype>(e[2], e[3])};
    to.r[k] = __builtin_bit_cast(Short4, words);
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

/// What one instruction takes of the tile in LDS.
struct alignas(mfma_unit * 2) CdnaTileOperand {
  Short4 r[isa::mfma_columns / 8];
};

/// Calls multiply(n, load(n)) for n in [0, count). LDS is read a few products ahead, which hide its
/// latency; compilers left alone read just before the use.
template <int count, class Load, class Multiply>
WF_DEVICE void multiply_in_order(Load&& load, Multiply&& multiply) {
  constexpr int ahead = count < 3 ? count : 3;
  CdnaTileOperand operand[ahead];
  WF_UNROLL
  for (int n = 0; n < ahead; ++n) operand[n] = load(n);
  WF_UNROLL
  for (int n = 0; n < count; ++n) {
    isa::keep_order();
    multiply(n, operand[n % ahead]);
    if (n + ahead < count) operand[n % ahead] = load(n + ahead);
  }
}

/// c = a b^T: rows of b are keys, four columns a lane.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void mfma_abt(Accumulator& c, const Operand& a, const Tile& b) {
  constexpr int groups = isa::mfma_columns / 8, steps = Operand::cols / isa::mfma_columns;
  const u32 lane = static_cast<u32>(isa::thread_anew()) % 64;  // or addresses would fill registers
  const u16* from = &b.data[Tile::offset(lane % 32, lane / 32 * mfma_unit)];
  Float16 sum = {};
  multiply_in_order<Tile::rows / 32 * steps>(
      [&](int n) {
        const int at = Tile::offset(n / steps * 32, n % steps * isa::mfma_columns);
        return *reinterpret_cast<const CdnaTileOperand*>(from + at);
      },
      [&](int n, const CdnaTileOperand& rows) {
        if (n % steps == 0) sum = Float16{};
        sum = isa::mfma_32x32<Operand::dtype>(rows.r, a.r + n % steps * groups, sum);
        if (n % steps == steps - 1) set_block(c, n / steps, sum);
      });
}

/// The operand of a step for columns from 32 `block` on of a b; `base` is the tile's lane_offset.
template <class Tile>
WF_DEVICE CdnaTileOperand transposed_operand(const Tile& b, int base, int block, int step) {
  const u16* from = &b.data[Tile::operand_offset(base, block, step)];
  return *reinterpret_cast<const CdnaTileOperand*>(from);
}

/// c += a b: b is stored with its columns as rows.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void mfma_ab(Accumulator& c, const Operand& a, const Tile& b) {
  constexpr int groups = isa::mfma_columns / 8, steps = Operand::cols / isa::mfma_columns;
  const int base = Tile::lane_offset(isa::thread_anew() & 63);  // or it would fill registers
  Float16 sum;
  multiply_in_order<Tile::cols / 32 * steps>(
      [&](int n) { return transposed_operand(b, base, n / steps, n % steps); },
      [&](int n, const CdnaTileOperand& rows) {
        if (n % steps == 0) sum = block_of(c, n / steps);
        sum = isa::mfma_32x32<Operand::dtype>(rows.r, a.r + n % steps * groups, sum);
        if (n % steps == steps - 1) set_block(c, n / steps, sum);
      });
}

/// Rows of q from global memory into registers; columns behind the last dimension are zero.
template <class Operand, class Address>
WF_DEVICE void load_left_operand(Operand& to, i32 rows, i32 dims, int lane, Address&& address) {
  const i32 row = min(lane / 64 * 32 + lane % 32, rows - 1);
  const char* from = static_cast<const char*>(address(row));
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 8; ++k) {
    constexpr int parts = mfma_unit / 4;
    const int column = k / parts * isa::mfma_columns + lane % 64 / 32 * mfma_unit + k % parts * 4;
    // Dims are a multiple of eight: where all lanes are on the same side, they know it.
    const bool inside = (parts == 1 ? k * 8 : column) < dims;
    const Short4 four = *reinterpret_cast<const Short4*>(from + (inside ? column : 0) * 2);
    to.r[k] = inside ? four : Short4{0, 0, 0, 0};
  }
}

WF_NAMESPACE_END
