// Loads in flight on CDNA: in registers, until `load_end` places them in LDS.
#pragma once

#include "tile/cdna/isa.h"

WF_NAMESPACE_BEGIN(tile)

struct NoSlot {};

template <int>
struct NoBarriers {
  WF_DEVICE NoSlot k_slot(i32) { return {}; }
  WF_DEVICE NoSlot v_slot(i32) { return {}; }
};

/// Sixteen bytes.
typedef u32 Chunk __attribute__((vector_size(16)));

template <class Tile>
struct PendingTile {
  static constexpr int per_lane = Tile::rows * Tile::chunks / 256;
  Chunk chunk[per_lane];
};

WF_NAMESPACE_END
