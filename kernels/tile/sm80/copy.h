// Rows from global memory into swizzled tiles by cp.async, one group a tile.
#pragma once

#include "tile/sm80/shared.h"
#include "tile/sm80/wave.h"

WF_NAMESPACE_BEGIN(tile)

/// `lanes` threads, numbered `lane`, ask for rows [first, first + count) of the source; rows behind
/// the end and columns behind the last dimension become zero.
template <int lanes, class Tile, class Source>
WF_DEVICE void copy_rows_async(Tile& tile, const Source& source, i32 first, i32 count, int lane) {
  const u32 base = isa::shared_address(tile.bytes);
  const i32 dims = source.dims[0] + (source.segments > 1 ? source.dims[1] : 0);
  WF_UNROLL
  for (int place = lane; place < Tile::rows * Tile::chunks; place += lanes) {
    const int row = place / Tile::chunks;
    const int chunk = place % Tile::chunks;
    i32 column = chunk * Tile::chunk_elements;
    const bool valid = row < count && column < dims;
    // An invalid chunk reads nothing, but its address must be one: row `first` is always there.
    const i32 at = valid ? first + row : first;
    if (!valid) column = 0;
    const bool second = source.segments > 1 && column >= source.dims[0];
    if (second) column -= source.dims[0];
    const void* row_address =
        second ? source.segment[1].address(at) : source.segment[0].address(at);
    const char* from = static_cast<const char*>(row_address);
    isa::copy_async_16(base + Tile::offset(row, chunk), from + column * size_of(source.dtype),
                       valid);
  }
}

WF_NAMESPACE_END
