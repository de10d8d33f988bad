// Rows from global memory through registers into LDS.
#pragma once

#include "tile/cdna/shared.h"
#include "tile/cdna/wave.h"

WF_NAMESPACE_BEGIN(tile)

/// Asks for rows [first, first + count) of the source; what lies behind the end is zero.
template <class Tile, int lanes, class Source>
WF_DEVICE void fetch_rows(PendingTile<Tile, lanes>& pending, const Source& source, i32 first, i32 count) {
  const i32 dims = source.columns();
  WF_UNROLL
  for (int i = 0; i < PendingTile<Tile, lanes>::per_lane; ++i) {
    const int place = i * lanes + isa::thread();
    const int row = place / Tile::chunks;
    i32 column = place % Tile::chunks * Tile::chunk_elements;
    if (row < count && column < dims) {
      const void* from = source.segment[source.segment_of(column)].address(first + row);
      pending.chunk[i] = *reinterpret_cast<const Chunk*>(static_cast<const char*>(from) +
                                                         column * size_of(source.dtype));
    } else {
      pending.chunk[i] = Chunk{0, 0, 0, 0};
    }
  }
}

template <DType dtype, int rows, int cols, int lanes>
WF_DEVICE void place_rows(PaddedTile<dtype, rows, cols>& tile,
                          const PendingTile<PaddedTile<dtype, rows, cols>, lanes>& pending) {
  using Tile = PaddedTile<dtype, rows, cols>;
  WF_UNROLL
  for (int i = 0; i < PendingTile<Tile, lanes>::per_lane; ++i) {
    const int place = i * lanes + isa::thread();
    // The padding leaves rows aligned to eight bytes.
    u64* to = reinterpret_cast<u64*>(&tile.data[place / Tile::chunks * Tile::stride +
                                                place % Tile::chunks * Tile::chunk_elements]);
    const Chunk chunk = pending.chunk[i];
    to[0] = chunk[0] | static_cast<u64>(chunk[1]) << 32;
    to[1] = chunk[2] | static_cast<u64>(chunk[3]) << 32;
  }
}

template <DType dtype, int rows, int cols, int lanes>
WF_DEVICE void place_rows(TransposedTile<dtype, rows, cols>& tile,
                          const PendingTile<TransposedTile<dtype, rows, cols>, lanes>& pending) {
  using Tile = TransposedTile<dtype, rows, cols>;
  WF_UNROLL
  for (int i = 0; i < PendingTile<Tile, lanes>::per_lane; ++i) {
    const int place = i * lanes + isa::thread();
    const int row = place / Tile::chunks;
    const int column = place % Tile::chunks * Tile::chunk_elements;
    const Chunk chunk = pending.chunk[i];
    WF_UNROLL
    for (int pair = 0; pair < 4; ++pair) {
      const u32 both = chunk[pair];
      tile.data[(column + pair * 2) * Tile::stride + row] = static_cast<u16>(both);
      tile.data[(column + pair * 2 + 1) * Tile::stride + row] = static_cast<u16>(both >> 16);
    }
  }
}

WF_NAMESPACE_END
