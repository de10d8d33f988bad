// The tiles of sm_90 have up to 128 rows: the team shares the search for values that are not finite
// (sm80/finite.h), so that a tile without any costs little.
#pragma once

#include "tile/sm80/finite.h"

WF_NAMESPACE_BEGIN(tile)

/// Whether this lane's share of the tile has a value that is not finite.
template <int lanes, class Tile>
WF_DEVICE bool has_non_finite(const Tile& tile) {
  constexpr int chunks = sizeof(tile.bytes) / 16;
  bool found = false;
  for (int at = isa::thread(); at < chunks; at += lanes) {
    const TileChunk c = *reinterpret_cast<const TileChunk*>(tile.bytes + at * 16);
    for (u32 pair : c.word) found = found || is_non_finite<Tile::dtype>(pair);
  }
  return found;
}

WF_NAMESPACE_END
