// Matrix products by wgmma: one warpgroup for every 64 rows of the left operand; the right operand
// in slices of shared memory. They run until `wgmma_wait`.
#pragma once

#include "tile/fragment.h"
#include "tile/sm80/mma.h"
#include "tile/sm90/shared.h"

WF_NAMESPACE_BEGIN(tile)

inline constexpr int warpgroup_lanes = 128;
inline constexpr int warpgroup_rows = 64;  // of the left operand

/// A left operand in shared memory: queries, whose registers the sums need.
template <class Tile>
struct SharedSlices {
  static constexpr DType dtype = Tile::dtype;
  static constexpr int cols = Tile::cols;
  u32 base;  // of this warpgroup's rows
};

/// A warpgroup's rows of an accumulator, rounded, by way of a tile of shared memory to
/// `address(row)` for each row below `rows`: whole rows of `dims` elements, sixteen bytes a lane.
/// Each lane finds out where one row lies.
template <DType dtype, class Tile, class Accumulator, class Address, class Sync>
WF_DEVICE void store_by_tile(Tile& tile, const Accumulator& from, i32 rows, i32 dims,
                             Address&& address, Sync&& sync) {
  using L = typename Accumulator::Layout;
  static_assert(L::rows == Tile::rows && L::cols <= Tile::cols && Tile::chunk_elements == 8);
  const int thread = isa::thread();
  sync();  // nobody reads the tile any more
  // A warp's sixteen rows by sixteen columns at a time: a lane's pairs of columns j and j + 1 of
  // both of its rows, then of the eight columns behind.
  static_assert(L::slots == 2 && L::row(0, 1) == 8 && L::col(0, 2) == 8);
  const u32 to = isa::shared_address(tile.bytes) +
                 static_cast<u32>(Tile::offset(thread / 32 * 16 + thread % 16, thread / 16 % 2));
  WF_UNROLL
  for (int j = 0; j < L::per_slot; j += 4) {
    u32 words[4];
    WF_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int column = j + i / 2 * 2;
      words[i] =
          isa::pack<dtype>(from.e[L::index(i % 2, column)], from.e[L::index(i % 2, column + 1)]);
    }
    isa::store_matrix_x4(Tile::moved(to, 0, j / 2), words);
  }
  isa::warp_barrier();  // a warp stores its own sixteen rows
  constexpr int chunks = L::cols / 8;
  constexpr int step = 32 / chunks;  // rows that a warp stores together
  const int chunk = thread % 32 % chunks;
  const int first = thread / 32 * 16;
  const i64 own = reinterpret_cast<i64>(address(min(first + thread % 16, rows - 1)));
  WF_UNROLL
  for (int i = 0; i < 16; i += step) {
    const int row = first + i + thread % 32 / chunks;
    const i64 to = isa::shuffle(own, row - first);
    if (row >= rows || chunk * 8 >= dims) continue;
    u32 words[4];
    isa::load_16(tile.bytes + Tile::offset(row, chunk), words);
    isa::store_16<false>(reinterpret_cast<char*>(to) + chunk * 16, words);
  }
}

/// c = a b^T; b holds the columns of c as rows, contiguous along the sum.
template <class Accumulator, class LeftTile, class Tile>
WF_DEVICE void wgmma_abt(Accumulator& c, const SharedSlices<LeftTile>& a, const Tile& b) {
  const SwizzledDescriptor<16, 1024> left(a.base), right(isa::shared_address(b.bytes));
  isa::fence_registers(c.e);
  isa::wgmma_fence();
  WF_UNROLL
  for (int k = 0; k < LeftTile::cols / 16; ++k) {
    const int step = k % 4 * 32;
    isa::wgmma_abt<LeftTile::dtype, Tile::rows>(
        c.e, left.moved(k / 4 * LeftTile::slice_bytes + step),
        right.moved(k / 4 * Tile::slice_bytes + step), k > 0);
  }
  isa::wgmma_commit();
}

/// c += a b; b is stored with its columns contiguous.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void wgmma_ab(Accumulator& c, const Operand& a, const Tile& b) {
  constexpr int columns = Tile::cols < 128 ? Tile::cols : 128;  // of one instruction
  constexpr int slices = columns / Tile::slice_cols;
  const SwizzledDescriptor<Tile::slice_bytes, 1024> right(isa::shared_address(b.bytes));
  isa::fence_registers(c.e);
  isa::wgmma_fence();
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 16; ++k) {
    WF_UNROLL
    for (int n = 0; n < Tile::cols / columns; ++n) {
      const int step = n * slices * Tile::slice_bytes + k * 16 * 128;
      isa::wgmma_ab<Operand::dtype, columns>(c.e + n * columns / 2, a.r[k], right.moved(step),
                                             true);
    }
  }
  isa::wgmma_commit();
}

/// Waits for all but the `younger` products that began last.
template <int younger, class Accumulator>
WF_DEVICE void wgmma_end(Accumulator& c) {
  isa::wgmma_wait<younger>();
  isa::fence_registers(c.e);
}

WF_NAMESPACE_END
