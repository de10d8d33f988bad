// Values that are not finite, in keys that some rows do not see. Their weight is zero there, but
// zero times NaN or infinity is NaN: rows of V with such values are added to the rows that weigh
// them, one by one, and are zero in the tile's product. Rare, so simple.
#pragma once

#include "tile/cdna/mma.h"

WF_NAMESPACE_BEGIN(tile)

/// Whether a 16-bit float has an exponent of ones.
template <DType dtype>
WF_DEVICE bool is_non_finite(u16 bits) {
  constexpr u16 exponent = dtype == DType::bf16 ? 0x7f80 : 0x7c00;
  return (bits & exponent) == exponent;
}

/// Whether the tile has such a value. The same in every lane of every wave.
template <class Tile>
WF_DEVICE bool has_non_finite(const Tile& tile) {
  constexpr u32 exponent_unit = Tile::dtype == DType::bf16 ? 0x00800080u : 0x04000400u;
  u32 carries = 0;
  for (int column = isa::thread() % 64; column < Tile::cols; column += 64) {
    const u64* keys = reinterpret_cast<const u64*>(&tile.data[column * Tile::rows]);
    WF_UNROLL
    for (int i = 0; i < Tile::rows / 4; ++i) {
      const u32 low = static_cast<u32>(keys[i]), high = static_cast<u32>(keys[i] >> 32);
      carries |= ((low & 0x7fff7fffu) + exponent_unit) | ((high & 0x7fff7fffu) + exponent_unit);
    }
  }
  return isa::ballot((carries & 0x80008000u) != 0) != 0;
}

/// Bit i: row i of the tile has a value that is not finite. The same in every lane of every wave.
template <class Tile>
WF_DEVICE u64 non_finite_rows(const Tile& tile) {
  static_assert(Tile::rows <= 64);
  if (!has_non_finite(tile)) return 0;
  const int row = isa::thread() % 64;
  bool found = false;
  for (int column = 0; row < Tile::rows && column < Tile::cols; ++column) {
    found = found || is_non_finite<Tile::dtype>(tile.data[Tile::offset(column, row)]);
  }
  return isa::ballot(found);
}

/// The weight of key `key` for this lane's row.
template <class Weights>
WF_DEVICE float weight_of_key(const Weights& a, int key) {
  float own = 0.f;
  WF_UNROLL
  for (int k = 0; k < Weights::cols / 8; ++k) {
    WF_UNROLL
    for (int i = 0; i < 4; ++i) {
      const short bits = a.r[k][i];
      if (key / 8 == k && key % 4 == i) {
        own = isa::unpack<Weights::dtype>(static_cast<u16>(bits), 0);
      }
    }
  }
  return isa::shuffle(own, isa::thread() % 32 + key / 4 % 2 * 32);
}

/// Columns from 32 `block` on of c += a b without the rows of b in `left_out`.
template <class Accumulator, class Weights, class Tile>
WF_DEVICE void mfma_finite(Accumulator& c, const Weights& a, const Tile& b, int block, int lane,
                           u64 left_out) {
  constexpr int groups = isa::mfma_columns / 8;
  const int base = Tile::lane_offset(lane);
  Float16 sum = block_of(c, block);
  WF_UNROLL
  for (int k = 0; k < Weights::cols / isa::mfma_columns; ++k) {
    isa::keep_order();
    CdnaTileOperand rows = transposed_operand(b, base, block, k);
    WF_UNROLL
    for (int i = 0; i < groups; ++i) {
      const u64 out = left_out >> ((k * groups + i) * 8 + lane / 32 * 4);
      WF_UNROLL
      for (int j = 0; j < 4; ++j) rows.r[i][j] = out >> j & 1 ? 0 : rows.r[i][j];
    }
    sum = isa::mfma_32x32<Weights::dtype>(rows.r, a.r + k * groups, sum);
  }
  set_block(c, block, sum);
}

/// c += a b, where b has values that are not finite: their rows, one by one, to those that weigh
/// them, then the rest. False if there are none, and nothing is done.
template <class Accumulator, class Weights, class Tile>
WF_DEVICE bool mfma_ab_isolated(Accumulator& c, const Weights& a, const Tile& b) {
  using L = typename Accumulator::Layout;
  const u64 rows = non_finite_rows(b);
  if (rows == 0) return false;
  WF_UNROLL
  for (int block = 0; block < Tile::cols / 32; ++block) {
    const int lane = isa::thread_anew() & 63;
    // A loop for each block, or loads of all of them would take registers together.
    for (u64 left = rows; left != 0; left &= left - 1) {
      const int key = __builtin_ctzll(left);
      const float weight = weight_of_key(a, key);
      WF_UNROLL
      for (int j = block * 16; j < block * 16 + 16; ++j) {
        const u16 value = b.data[Tile::offset(L::col(lane, j), key)];
        float& sum = c.e[L::index(0, j)];
        if (weight != 0.f) sum = fma(weight, isa::unpack<Tile::dtype>(value, 0), sum);
      }
    }
    mfma_finite(c, a, b, block, lane, rows);
  }
  return true;
}

WF_NAMESPACE_END
