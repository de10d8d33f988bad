// Filling a stage on sm_90: by the copy engine where the tile's rows lie in one page, by cp.async
// where they have to be gathered or end early (rows behind the end must be zero: a weight of zero
// times a stray NaN is NaN).
#pragma once

#include "tile/sm80/copy.h"
#include "tile/sm90/pipeline.h"
#include "tile/sm90/shared.h"

WF_NAMESPACE_BEGIN(tile)

/// Opaque 128 bytes: a CUtensorMap over [page][head][slot][column], innermost last, with a box of
/// {64 columns, tile_kv slots, 1, 1} and 128-byte swizzle.
struct alignas(64) TensorMap {
  u64 opaque[16];
};

struct KvTensorMaps {
  TensorMap map[2];  // K, V
};

/// Called by the `fillers` lanes of the loading warp; every lane arrives once on the slot's `full`.
template <int fillers, bool tensor_maps, class Tile, class Source>
WF_DEVICE void fill_stage(Tile& tile, BarrierSlot slot, const Source& source, const TensorMap& map,
                          i32 first, i32 count) {
  const int lane = isa::thread() % 32;
  if constexpr (tensor_maps) {
    const auto& rows = source.segment[0];
    const i32 page_size = rows.params->page_size;
    const bool one_page = count == Tile::rows && first % page_size + count <= page_size;
    if (one_page) {
      if (lane == 0) {
        isa::barrier_expect(slot.full, sizeof(tile.bytes));
        const i32 page = static_cast<i32>(rows.page_at(rows.place(first)));
        const u32 base = isa::shared_address(tile.bytes);
        WF_UNROLL
        for (int s = 0; s < Tile::slices; ++s) {
          isa::copy_tensor(base + s * Tile::slice_bytes, &map, slot.full, s * Tile::slice_cols,
                           first % page_size, source.kv_head, page);
        }
      } else {
        isa::barrier_arrive(slot.full);
      }
      return;
    }
  }
  static_assert(fillers == 32);
  WF_UNROLL
  for (int row = 0; row < Tile::rows; row += 32) {
    const i32 looked_up = first + min(row + lane, count - 1);
    copy_row_group<32>(tile, source, source.segment[0].place(looked_up), row, count);
  }
  isa::copy_async_commit();
  isa::copy_async_wait<0>();
  isa::fence_async_proxy();
  isa::barrier_arrive(slot.full);
}

WF_NAMESPACE_END
