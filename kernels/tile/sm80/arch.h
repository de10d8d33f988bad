// sm_80 as an architecture (concepts.h): mma.sync, cp.async, a team of one warp for every sixteen
// rows. Every NVIDIA GPU from there on can run it.
#pragma once

#include "tile/sm80/copy.h"
#include "tile/sm80/float_team.h"
#include "tile/sm80/grid.h"
#include "tile/sm80/limits.h"
#include "tile/sm80/mma.h"
#include "tile/sm80/non_finite.h"
#include "tile/sm80/pipeline.h"

WF_NAMESPACE_BEGIN(tile)

template <int warps>
struct Sm80Team : NvidiaProducts<warps> {
  using Common = NvidiaProducts<warps>;
  using Common::team_lanes;
  using Common::team_sync;
  struct Tail {};
  static constexpr int block_threads = team_lanes;

  template <int rows, int cols>
  using Accumulator = Fragment<float, NvidiaAccumulatorLayout<rows, cols>>;
  template <auto config>
  using Output =
      Fragment<float, Choose<is_float8(config.stored),
                             NvidiaFloat8AccumulatorLayout<config.tile_rows, config.head_dim_vo>,
                             NvidiaAccumulatorLayout<config.tile_rows, config.head_dim_vo>>>;
  /// Wide queries stay in shared memory: the output needs the registers, and with many rows the
  /// scores do.
  template <DType dtype, int rows, int cols, bool wide = (cols > (warps > 1 ? 64 : 128))>
  using LeftOperand = Choose<wide, SharedLeftOperand<SwizzledTile<dtype, rows, cols>>,
                             NvidiaLeftOperand<dtype, rows, cols>>;
  template <DType dtype, int rows, int cols>
  using WeightOperand = NvidiaLeftOperand<dtype, rows, cols>;
  template <auto config>
  using KTile = SwizzledTile<config.kv_dtype(), config.tile_kv, config.head_dim_qk>;
  template <auto config>
  using VTile = SwizzledTile<config.kv_dtype(), config.tile_kv, config.head_dim_vo>;
  template <auto config>
  struct QueryTile {
    using Columns = Choose<is_float8(config.stored), NvidiaFloat8LeftLayout, NvidiaLeftLayout>;
    typename LeftOperand<config.operand, config.tile_rows, config.head_dim_qk>::Storage storage;
  };
  template <int stages>
  using Barriers = NoBarriers<stages>;
  template <class, class, class Place>
  using Pending = NextPlace<Place>;

  WF_DEVICE static bool computes() { return true; }
  template <class Barriers>
  WF_DEVICE static void init(Barriers&) {}

  /// All lanes are done with the tiles of the item before.
  template <class Place>
  WF_DEVICE static void begin_item(NextPlace<Place>& next) {
    next.first = -1;
    isa::copy_async_wait<0>();
    team_sync();
  }

  template <class Tile, class Place, int stages, class Source>
  WF_DEVICE static void load_begin(Tile& tile, NextPlace<Place>& next, GroupSlot<stages>,
                                   const Source& source, const Tail&, int which, i32 first,
                                   i32 count) {
    if (count > 0) {
      look_up<warps, Tile::rows>(next, source, first, count);
      copy_rows_async<warps>(tile, next.place, source, count);
      if (which == 1) look_up<warps, Tile::rows>(next, source, first + Tile::rows, Tile::rows);
    }
    isa::copy_async_commit();
  }
  template <class Tile, class Place, int stages, class Source, class Transform>
  WF_DEVICE static void load_end(Tile&, NextPlace<Place>&, GroupSlot<stages>, const Source&, i32,
                                 i32, bool, Transform&&) {
    isa::copy_async_wait<GroupSlot<stages>::younger>();
    team_sync();
  }
  template <class Operand, class QueryTile, class Address, class Transform>
  WF_DEVICE static void load_left(Operand& to, QueryTile& tile, DType dtype, i32 rows, i32 dims,
                                  int lane, Address&& address, Transform&&) {
    to.bind(tile.storage);
    load_left_operand<typename QueryTile::Columns>(to, dtype, rows, dims, lane, address);
  }

  template <class Scores, class Operand, class Tile>
  WF_DEVICE static void multiply_abt_begin(Scores& c, const Operand& a, const Tile& b, Extent,
                                           int) {
    mma_abt(c, a, b);
  }
  template <class Output, class Weights, class Tile>
  WF_DEVICE static void multiply_ab_begin(Output& c, const Weights& a, const Tile& b, Extent, int) {
    mma_ab(c, a, b);
  }
  template <class Output, class Weights, class Tile>
  WF_DEVICE static void add_non_finite(Output& c, const Weights& a, Tile& b, Extent, int) {
    extract_non_finite(c, a, b, [] { team_sync(); });
  }
  template <class Accumulator>
  WF_DEVICE static void multiply_end(Accumulator&) {}
};

using Sm80 = Sm80Team<4>;

/// What a configuration runs on.
template <auto config>
using Sm80For = Choose<config.operand == DType::f32, Sm80Float, Sm80Team<config.tile_rows / 16>>;

WF_NAMESPACE_END
