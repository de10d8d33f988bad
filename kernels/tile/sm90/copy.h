// Filling a stage on sm_90: by the copy engine where whole boxes of rows are wanted, by cp.async
// where rows have to be gathered or end early (rows behind the end must be zero: a weight of zero
// times a stray NaN is NaN).
#pragma once

#include "tile/sm80/copy.h"
#include "tile/sm90/pipeline.h"
#include "tile/sm90/shared.h"
#include "tile/tensor_map.h"

WF_NAMESPACE_BEGIN(tile)

/// A whole tile that begins with row `first`, by one warp.
template <class Tile, class Source>
WF_DEVICE void copy_boxes(Tile& tile, BarrierSlot slot, const Source& source, const TensorMap& map,
                          i32 box_rows, i32 first) {
  const int lane = isa::thread() % 32;
  const u32 to = isa::shared_address(tile.bytes);
  if (lane == 0) {
    isa::barrier_expect(slot.full, sizeof(tile.bytes));
  } else {
    isa::barrier_arrive(slot.full);
  }
  isa::warp_barrier();
  for (int row = lane * box_rows; row < Tile::rows; row += 32 * box_rows) {
    const auto& rows = source.segment[0];
    const auto place = rows.place(first + row);
    const i32 page = rows.table == nullptr ? 0 : static_cast<i32>(rows.page_at(place));
    WF_UNROLL
    for (int s = 0; s < Tile::slices; ++s) {
      isa::copy_tensor(to + s * Tile::slice_bytes + row * 128, &map, slot.full,
                       s * Tile::slice_cols, rows.first_row + place.slot, source.kv_head, page);
    }
  }
}

/// Rows of q, by `warps` warps, of which this is number `warp`: columns behind the last dimension
/// are zero, rows behind the last one repeat it. Each lane finds out where one row lies.
template <int warps, class Tile, class Address>
WF_DEVICE void fill_left(Tile& tile, int warp, i32 rows, i32 dims, Address&& address) {
  constexpr int each = Tile::rows / warps;
  constexpr int step = 32 / Tile::chunks;  // rows that the lanes copy together
  static_assert(each <= 32 && step > 0 && is_movable<Tile, step, Tile::chunks>());
  const int lane = isa::thread() % 32;
  const int chunk = lane % Tile::chunks;
  const bool valid = chunk * Tile::chunk_elements < dims;
  const i64 own = reinterpret_cast<i64>(address(min(warp * each + lane % each, rows - 1)));
  const u32 to = isa::shared_address(tile.bytes) +
                 static_cast<u32>(Tile::offset(warp * each + lane / Tile::chunks, chunk));
  WF_NO_UNROLL  // the loading lanes have few registers
      for (int pass = 0; pass < each; pass += step) {
    const i64 row = isa::shuffle(own, pass + lane / Tile::chunks);
    isa::copy_async_16(Tile::moved(to, pass, 0),
                       reinterpret_cast<const char*>(row) + (valid ? chunk * 16 : 0), valid);
  }
  isa::copy_async_commit();
  isa::copy_async_wait<0>();
  isa::fence_async_proxy();
}

/// By `warps` warps, of which this is number `warp`; each lane arrives once on the slot's `full`.
template <int warps, class Tile, class Source>
WF_DEVICE void fill_stage(Tile& tile, BarrierSlot slot, const Source& source,
                          const KvTensorMaps& maps, int which, int warp, i32 first, i32 count) {
  const int lane = isa::thread() % 32;
  const auto& rows = source.segment[0];
  const bool whole_boxes = count == Tile::rows && maps.box_rows > 0 &&
                           (rows.table == nullptr || first % maps.box_rows == 0);
  if (whole_boxes) {
    if (warp == 0) return copy_boxes(tile, slot, source, maps.map[which], maps.box_rows, first);
  } else {
    constexpr int each = Tile::rows / warps;
    const int row = warp * each;
    const auto place = rows.place(first + min(row + lane % each, count - 1));
    copy_row_group<each>(tile, source, place, row, count);
    isa::copy_async_commit();
    isa::copy_async_wait<0>();
    isa::fence_async_proxy();
  }
  isa::barrier_arrive(slot.full);
}

WF_NAMESPACE_END
