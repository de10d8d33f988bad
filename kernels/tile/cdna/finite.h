// Values that are not finite, in keys that some rows do not see. Their weight is zero there, but
// zero times NaN or infinity is NaN: rows of V with such values are added to the rows that weigh
// them, one by one, and leave the tile (become zero) before its product. Rare, so simple.
//
// Where the halves of a team use a tile at different times, such values are left out when the tile
// is placed in LDS, and added from memory.
#pragma once

#include "tile/cdna/copy.h"
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

/// c += the part of a b that comes from rows of b which are not finite; these become zero. `sync`
/// is a barrier of the team that also orders the stores before the product.
template <class Accumulator, class Weights, class Tile, class Sync>
WF_DEVICE void take_non_finite(Accumulator& c, const Weights& a, Tile& b, Sync&& sync) {
  using L = typename Accumulator::Layout;
  const u64 rows = non_finite_rows(b);
  if (rows == 0) return;
  const int lane = isa::thread();
  for (int key = 0; key < Tile::rows; ++key) {
    if ((rows >> key & 1) == 0) continue;
    const float weight = weight_of_key(a, key);
    WF_UNROLL
    for (int j = 0; j < L::per_slot; ++j) {
      const u16 value = b.data[Tile::offset(L::col(lane, j), key)];
      float& sum = c.e[L::index(0, j)];
      if (weight != 0.f) sum = fma(weight, isa::unpack<Tile::dtype>(value, 0), sum);
    }
  }
  sync();
  for (int key = 0; key < Tile::rows; ++key) {
    if ((rows >> key & 1) == 0) continue;
    for (int column = lane; column < Tile::cols; column += L::lanes) {
      b.data[Tile::offset(column, key)] = 0;
    }
  }
  sync();
}

/// For each row of a stage of V, the number of the tile that was placed there without some values.
struct LeftOut {
  static constexpr int stages = 2;
  i32 tile_of_row[stages][64];

  WF_DEVICE NoSlot k_slot(i32) { return {}; }
  WF_DEVICE NoSlot v_slot(i32) { return {}; }
  WF_DEVICE void clear() {
    const int at = isa::thread();
    if (at < stages * 64) tile_of_row[at / 64][at % 64] = -1;
  }
  /// Bit i: row i of tile number `tile`. The same in all lanes.
  WF_DEVICE u64 rows(i32 tile, int count) const {
    const int row = isa::thread() & 63;
    return isa::ballot(row < count && tile_of_row[tile % stages][row] == tile);
  }
};

/// Values that are not finite become zero; what is noted is of tile number `tile`.
template <class Tile, int lanes>
WF_DEVICE void leave_out_non_finite(PendingTile<Tile, lanes> pending, LeftOut& left_out, i32 tile) {
  const CopyLayout<Tile, lanes> layout;
  WF_UNROLL
  for (int i = 0; i < layout.per_lane; ++i) {
    bool found = false;
    WF_UNROLL
    for (int word = 0; word < 4; ++word) {
      const u32 pair = pending.chunk[i][word];
      const bool low = is_non_finite<Tile::dtype>(static_cast<u16>(pair));
      const bool high = is_non_finite<Tile::dtype>(static_cast<u16>(pair >> 16));
      pending.chunk[i][word] = (low ? 0 : pair & 0xffffu) | (high ? 0 : pair & 0xffff0000u);
      found = found || low || high;
    }
    if (found) left_out.tile_of_row[tile % LeftOut::stages][layout.row(i)] = tile;
  }
}

/// c += the values that are not finite in row `key` of a tile, which lies at `row` in memory.
template <DType dtype, class Accumulator, class Weights>
WF_DEVICE void add_left_out(Accumulator& c, const Weights& a, int key, const void* row, i32 dims) {
  using L = typename Accumulator::Layout;
  const int lane = isa::thread_anew();
  const float weight = weight_of_key(a, key);
  WF_UNROLL
  for (int j = 0; j < L::per_slot; ++j) {
    const int column = L::col(lane, j);
    if (column >= dims || weight == 0.f) continue;
    const u16 value = static_cast<const u16*>(row)[column];
    float& sum = c.e[L::index(0, j)];
    if (is_non_finite<dtype>(value)) sum = fma(weight, isa::unpack<dtype>(value, 0), sum);
    isa::keep_order();
  }
}

WF_NAMESPACE_END
