// Loads in flight on CDNA: in registers, until `load_end` places them in LDS.
#pragma once

#include "tile/cdna/isa.h"

WF_NAMESPACE_BEGIN(tile)

struct NoSlot {};

template <int>
struct NoBarriers {
  WF_DEVICE NoSlot k_slot(u32) { return {}; }
  WF_DEVICE NoSlot v_slot(u32) { return {}; }
};

/// A lane's share of a tile, where `lanes` fetch it.
template <class Tile, int lanes>
struct PendingChunks {
  static_assert(Tile::rows * Tile::chunks % lanes == 0);
  static constexpr int per_lane = Tile::rows * Tile::chunks / lanes;
  Chunk chunk[per_lane];
};

/// The same as a tile's.
template <class Tile, int lanes>
struct PendingTile {
  static constexpr int per_lane = PendingChunks<Tile, lanes>::per_lane;
  Chunk* chunk;
};

WF_NAMESPACE_END
