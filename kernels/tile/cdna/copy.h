// Rows from global memory through registers into LDS. Each lane of a wave looks up where one row of
// the tile lies, then all lanes copy.
#pragma once

#include "tile/cdna/shared.h"
#include "tile/cdna/wave.h"

WF_NAMESPACE_BEGIN(tile)

/// Where the row lies that this lane looks up, of the tile that begins at row `first`. K and V ask
/// alike; the tile after is looked up early, since its copy would otherwise wait for the page
/// table.
template <class Place>
struct NextPlace {
  i32 first = -1;
  Place place;
};

template <int rows, class Place, class Source>
WF_DEVICE void look_up(NextPlace<Place>& next, const Source& source, i32 first) {
  static_assert(rows == 32 || rows == 64);
  if (next.first == first) return;
  next.first = first;
  next.place = source.segment[0].place(first + (isa::thread() & (rows - 1)));
}

/// Which rows and columns a lane copies: chunks of one column, of neighbouring rows where it can,
/// so that it stores their keys together in a transposed tile.
template <class Tile, int lanes>
struct CopyLayout {
  static constexpr int per_lane = PendingTile<Tile, lanes>::per_lane;
  static constexpr int together = per_lane < 4 ? per_lane : 4;
  static_assert(lanes % Tile::chunks == 0 && per_lane % together == 0);
  /// Read anew, or addresses would fill registers between tiles.
  const u32 lane = static_cast<u32>(isa::thread_anew()) % lanes;
  WF_DEVICE int row(int i) const {
    constexpr int step = lanes / Tile::chunks * together;
    return i / together * step + static_cast<int>(lane / Tile::chunks) * together + i % together;
  }
  WF_DEVICE i32 column() const {
    return static_cast<i32>(lane % Tile::chunks) * Tile::chunk_elements;
  }
};

/// Asks for the first `count` rows of a tile; each lane holds the place of one. The last one and
/// the first column stand for those behind the end.
template <class Tile, int lanes, class Source>
WF_DEVICE void fetch_rows(PendingTile<Tile, lanes> pending, const Source& source,
                          typename Source::Place place, i32 count) {
  const CopyLayout<Tile, lanes> layout;
  i32 column = layout.column();
  if (column >= source.columns()) column = 0;
  const int segment = source.segment_of(column);
  const i64 offset = source.segment[0].offset(place);
  i64 second_offset = 0;
  if constexpr (Source::most_segments > 1) {
    if (source.segments > 1) second_offset = source.segment[1].offset(place);
  }
  WF_UNROLL
  for (int i = 0; i < layout.per_lane; ++i) {
    const int row = min(layout.row(i), count - 1);
    const char* from = source.segment[0].base + isa::shuffle(offset, row);
    if constexpr (Source::most_segments > 1) {
      const i64 second = isa::shuffle(second_offset, row);
      if (segment == 1) from = source.segment[1].base + second;
    }
    pending.chunk[i] = *reinterpret_cast<const Chunk*>(from + column * size_of(Tile::dtype));
  }
}

/// The same where the rows of the tile follow each other: `from` is that of the first one, the same
/// in all lanes, and lanes differ by less than 4 GiB.
template <class Tile, int lanes>
WF_DEVICE void fetch_neighbours(PendingTile<Tile, lanes> pending, const char* from, u32 row_bytes,
                                i32 columns, i32 count) {
  const CopyLayout<Tile, lanes> layout;
  const u32 column = layout.column() < columns ? static_cast<u32>(layout.column()) : 0;
  WF_UNROLL
  for (int i = 0; i < layout.per_lane; ++i) {
    const u32 row = static_cast<u32>(min(layout.row(i), count - 1));
    const u32 offset = row * row_bytes + column * size_of(Tile::dtype);
    pending.chunk[i] = *reinterpret_cast<const Chunk*>(from + offset);
  }
}

/// Rows from `count` on and columns from `dims` on become zero.
template <class Tile, int lanes>
WF_DEVICE void clear_behind(PendingTile<Tile, lanes> pending, i32 count, i32 dims) {
  const CopyLayout<Tile, lanes> layout;
  if (count >= Tile::rows && dims >= Tile::cols) return;
  isa::keep_order();  // a branch: selects would cost whole tiles, too
  WF_UNROLL
  for (int i = 0; i < layout.per_lane; ++i) {
    if (layout.row(i) >= count || layout.column() >= dims) pending.chunk[i] = Chunk{0, 0, 0, 0};
  }
}

template <DType dtype, int rows, int cols, int lanes>
WF_DEVICE void place_rows(PaddedTile<dtype, rows, cols>& tile,
                          PendingTile<PaddedTile<dtype, rows, cols>, lanes> pending) {
  using Tile = PaddedTile<dtype, rows, cols>;
  const CopyLayout<Tile, lanes> layout;
  WF_UNROLL
  for (int i = 0; i < layout.per_lane; ++i) {
    u16* to = &tile.data[Tile::offset(layout.row(i), layout.column())];
    const Chunk chunk = pending.chunk[i];
    if constexpr (Tile::stride * size_of(dtype) % sizeof(Chunk) == 0) {
      *reinterpret_cast<Chunk*>(to) = chunk;
    } else {  // the padding leaves rows aligned to eight bytes
      u64* halves = reinterpret_cast<u64*>(to);
      halves[0] = chunk[0] | static_cast<u64>(chunk[1]) << 32;
      halves[1] = chunk[2] | static_cast<u64>(chunk[3]) << 32;
    }
  }
}

/// The low or the high halves of two words.
WF_DEVICE u32 low_halves(u32 a, u32 b) { return (a & 0xffffu) | b << 16; }
WF_DEVICE u32 high_halves(u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); }

/// One store of all words.
template <int count>
WF_DEVICE void store_words(u16* to, const u32 (&words)[count]) {
  if constexpr (count == 2) {
    *reinterpret_cast<u64*>(to) = words[0] | static_cast<u64>(words[1]) << 32;
  } else {
    static_assert(count == 1);
    *reinterpret_cast<u32*>(to) = words[0];
  }
}

template <DType dtype, int rows, int cols, int lanes>
WF_DEVICE void place_rows(TransposedTile<dtype, rows, cols>& tile,
                          PendingTile<TransposedTile<dtype, rows, cols>, lanes> pending) {
  using Tile = TransposedTile<dtype, rows, cols>;
  const CopyLayout<Tile, lanes> layout;
  constexpr int pairs = layout.together / 2;  // of keys
  static_assert(pairs >= 1);
  WF_UNROLL
  for (int i = 0; i < layout.per_lane; i += layout.together) {
    const int first = Tile::offset(layout.column(), layout.row(i));
    WF_UNROLL
    for (int word = 0; word < 4; ++word) {
      u32 low[pairs], high[pairs];
      WF_UNROLL
      for (int pair = 0; pair < pairs; ++pair) {
        const u32 a = pending.chunk[i + pair * 2][word], b = pending.chunk[i + pair * 2 + 1][word];
        low[pair] = low_halves(a, b);
        high[pair] = high_halves(a, b);
      }
      store_words(&tile.data[Tile::next_column(first, word * 2)], low);
      store_words(&tile.data[Tile::next_column(first, word * 2 + 1)], high);
    }
  }
}

WF_NAMESPACE_END
