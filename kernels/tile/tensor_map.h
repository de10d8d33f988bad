// What a copy engine is told of K and V: plain data that the host fills in and a launch carries
// behind its parameters (`LaunchParams`).
#pragma once

#include "tile/target.h"

namespace wavefire::tile {

/// Opaque to all but the driver that encodes it and the copy engine.
struct alignas(64) TensorMap {
  u64 opaque[16];
};

/// Maps over [page][head][slot][column] of K and V, innermost last, with boxes of {128 bytes of
/// columns, box_rows slots, 1, 1} in the 128-byte swizzle. Rows without pages lie in one page.
struct KvTensorMaps {
  TensorMap map[2] = {};
  i32 box_rows = 0;  // divides a KV tile; 0: there are no maps, rows are gathered one by one
};

}  // namespace wavefire::tile
