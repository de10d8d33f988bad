// Values that are not finite, in keys that some rows do not see. Their weight is zero there, but
// zero times NaN or infinity is NaN: rows of V with such values are added to the rows that weigh
// them, one by one, and leave the tile (become zero) before its product. Rare, so simple.
#pragma once

#include "tile/sm80/mma.h"

WF_NAMESPACE_BEGIN(tile)

struct alignas(16) TileChunk {
  u32 word[4];
};

template <class Tile>
WF_DEVICE TileChunk& chunk_of(Tile& tile, int row, int chunk) {
  return *reinterpret_cast<TileChunk*>(tile.bytes + Tile::offset(row, chunk));
}

/// Whether one of two 16-bit floats has an exponent of ones.
template <DType dtype>
WF_DEVICE bool is_non_finite(u32 pair) {
  constexpr u32 exponent_unit = dtype == DType::bf16 ? 0x00800080u : 0x04000400u;
  return (((pair & 0x7fff7fffu) + exponent_unit) & 0x80008000u) != 0;
}

/// Bit i: row begin + i of the tile has a value that is not finite. The same in every lane of every
/// warp.
template <class Tile>
WF_DEVICE u64 non_finite_rows(Tile& tile, int begin) {
  u64 rows = 0;
  WF_UNROLL
  for (int first = 0; first < 64; first += 32) {
    const int row = begin + first + isa::thread() % 32;
    bool found = false;
    for (int chunk = 0; row < Tile::rows && chunk < Tile::chunks; ++chunk) {
      const TileChunk c = chunk_of(tile, row, chunk);
      for (u32 pair : c.word) found = found || is_non_finite<Tile::dtype>(pair);
    }
    rows |= static_cast<u64>(isa::ballot(found)) << first;
  }
  return rows;
}

/// The weights of key `key` for this lane's two rows.
template <class Weights>
WF_DEVICE void weights_of_key(const Weights& a, int key, float (&weight)[2]) {
  const int holder = isa::thread() % 32 / 4 * 4 + key % 8 / 2;
  WF_UNROLL
  for (int slot = 0; slot < 2; ++slot) {
    u32 own = 0;
    WF_UNROLL
    for (int k = 0; k < Weights::cols / 16; ++k) {
      if (key / 8 == 2 * k) own = a.r[k][slot];
      if (key / 8 == 2 * k + 1) own = a.r[k][2 + slot];
    }
    const u32 pair = static_cast<u32>(isa::shuffle(static_cast<i64>(own), holder));
    weight[slot] = isa::unpack<Weights::dtype>(pair, key % 2);
  }
}

/// `take_non_finite` for the rows [begin, end), at most 64.
template <class Accumulator, class Weights, class Tile, class Sync>
WF_DEVICE void take_non_finite_rows(Accumulator& c, const Weights& a, Tile& b, int begin, int end,
                                    Sync&& sync) {
  using L = typename Accumulator::Layout;
  const u64 rows = non_finite_rows(b, begin);
  if (rows == 0) return;
  for (int key = begin; key < end; ++key) {
    if ((rows >> (key - begin) & 1) == 0) continue;
    const int lane = isa::thread_anew();  // else the addresses of all columns wait in registers
    float weight[2];
    weights_of_key(a, key, weight);
    WF_UNROLL
    for (int j = 0; j < L::per_slot; j += 2) {
      const int column = L::col(lane, j);
      const TileChunk& chunk = chunk_of(b, key, column / Tile::chunk_elements);
      const u32 pair = chunk.word[column % Tile::chunk_elements / 2];
      WF_UNROLL
      for (int i = 0; i < 4; ++i) {
        float& sum = c.e[L::index(i / 2, j + i % 2)];
        const float w = weight[i / 2];
        if (w != 0.f) sum = fma(w, isa::unpack<Tile::dtype>(pair, i % 2), sum);
      }
    }
  }
  sync();
  for (int key = begin; key < end; ++key) {
    if ((rows >> (key - begin) & 1) == 0) continue;
    for (int chunk = isa::thread(); chunk < Tile::chunks; chunk += L::lanes) {
      chunk_of(b, key, chunk) = {};
    }
  }
  sync();
}

/// c += the part of a b that comes from rows of b which are not finite; these become zero. `sync`
/// is a barrier of the team that also orders the stores before the product.
template <class Accumulator, class Weights, class Tile, class Sync>
WF_DEVICE void take_non_finite(Accumulator& c, const Weights& a, Tile& b, Sync&& sync) {
  for (int begin = 0; begin < Tile::rows; begin += 64) {
    take_non_finite_rows(c, a, b, begin, min(begin + 64, Tile::rows), sync);
  }
}

WF_NAMESPACE_END
