// Rows from global memory into swizzled tiles by cp.async, one group a tile. A warp takes rows that
// follow each other: each lane looks up where one of them lies, then all lanes copy them.
#pragma once

#include "tile/sm80/shared.h"
#include "tile/sm80/wave.h"

WF_NAMESPACE_BEGIN(tile)

/// A chunk of float8 values whose row begins at a multiple of eight bytes. The first `bytes` of it
/// are there, 0, 8 or 16; the others become zero.
WF_DEVICE void copy_halves_async(u32 to, const char* from, int bytes) {
  isa::copy_async_8(to, from, min(bytes, 8));
  isa::copy_async_8(to + 8, bytes > 8 ? from + 8 : from, max(bytes - 8, 0));
}

/// Copies the `rows` rows from `row` on of a tile; lane l holds the place of row + l. Rows from
/// `count` on and columns behind the last dimension become zero.
template <int rows, class Tile, class Source>
WF_DEVICE void copy_row_group(Tile& tile, const Source& source, typename Source::Place place,
                              int row, i32 count) {
  constexpr int step = 32 / Tile::chunks;  // rows that the lanes copy together
  static_assert(rows <= 32 && step > 0 && rows % step == 0);
  static_assert(is_movable<Tile, step, Tile::chunks>());
  const int lane = isa::thread() % 32;
  const int lane_row = lane / Tile::chunks;
  const u32 to = isa::shared_address(tile.bytes) +
                 static_cast<u32>(Tile::offset(lane_row, lane % Tile::chunks)) +
                 static_cast<u32>(Tile::offset(row, 0));
  i32 column = lane % Tile::chunks * Tile::chunk_elements;
  const i32 valid_rows = column < source.columns() ? count - row - lane_row : 0;
  const i32 valid_bytes = min((source.columns() - column) * size_of(Tile::dtype), 16);
  const int segment = source.segment_of(column);
  const i64 offset = source.segment[0].offset(place);
  i64 second_offset = 0;
  if constexpr (Source::most_segments > 1) {
    if (source.segments > 1) second_offset = source.segment[1].offset(place);
  }
  const auto chunk_of = [&](int pass) {
    const char* from = source.segment[0].base + isa::shuffle(offset, pass + lane_row);
    if constexpr (Source::most_segments > 1) {
      const i64 second = isa::shuffle(second_offset, pass + lane_row);
      if (segment == 1) from = source.segment[1].base + second;
    }
    return from + column * size_of(Tile::dtype);
  };
  if constexpr (size_of(Tile::dtype) == 1) {
    bool by_halves = source.columns() % 16 != 0 ||
                     reinterpret_cast<u64>(source.segment[0].base + offset) % 16 != 0;
    if constexpr (Source::most_segments > 1) by_halves = by_halves || source.segments > 1;
    if (isa::ballot(by_halves) != 0) {
      WF_NO_UNROLL
      for (int pass = 0; pass < rows; pass += step) {
        copy_halves_async(Tile::moved(to, pass, 0), chunk_of(pass),
                          pass < valid_rows ? valid_bytes : 0);
      }
      return;
    }
  }
  WF_UNROLL
  for (int pass = 0; pass < rows; pass += step) {
    isa::copy_async_16(Tile::moved(to, pass, 0), chunk_of(pass), pass < valid_rows);
  }
}

/// Where the row lies that this lane looks up, of the tile that begins at row `first`. K and V ask
/// alike; the tile after is looked up early, since its copy would otherwise wait for the page
/// table.
template <class Place>
struct NextPlace {
  i32 first = -1;
  Place place;
  WF_DEVICE NextPlace& k() { return *this; }
  WF_DEVICE NextPlace& v() { return *this; }
};

/// A warp looks up, and copies, `rows_of_warp` rows that follow each other.
template <int warps, int rows>
inline constexpr int rows_of_warp = rows / warps;

/// Compilers do not see that one warp has no other before it.
template <int warps>
WF_DEVICE int warp_of_team() {
  return warps == 1 ? 0 : isa::thread() / 32;
}

/// Rows behind `count` stand for the last one.
template <int warps, int rows, class Place, class Source>
WF_DEVICE void look_up(NextPlace<Place>& next, const Source& source, i32 first, i32 count) {
  constexpr int each = rows_of_warp<warps, rows>;
  if (next.first == first) return;
  const int row = warp_of_team<warps>() * each + isa::thread() % 32 % each;
  next.first = first;
  next.place = source.segment[0].place(first + min(row, count - 1));
}

/// The warps of the team ask for a tile's first `count` rows, each for its part.
template <int warps, class Tile, class Source>
WF_DEVICE void copy_rows_async(Tile& tile, typename Source::Place place, const Source& source,
                               i32 count) {
  constexpr int each = rows_of_warp<warps, Tile::rows>;
  static_assert(each % 8 == 0);
  copy_row_group<each>(tile, source, place, warp_of_team<warps>() * each, count);
}

WF_NAMESPACE_END
