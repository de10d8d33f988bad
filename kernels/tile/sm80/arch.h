// sm_80 as an architecture (concepts.h): four warps, mma.sync, cp.async. Every NVIDIA GPU from
// there on can run it.
#pragma once

#include "tile/sm80/copy.h"
#include "tile/sm80/grid.h"
#include "tile/sm80/limits.h"
#include "tile/sm80/mma.h"
#include "tile/sm80/pipeline.h"

WF_NAMESPACE_BEGIN(tile)

struct Sm80 : NvidiaCommon {
  struct Tail {};
  static constexpr int block_threads = team_lanes;

  template <int rows, int cols>
  using Accumulator = Fragment<float, NvidiaAccumulatorLayout<rows, cols>>;
  template <DType dtype, int rows, int cols>
  using LeftOperand = NvidiaLeftOperand<dtype, rows, cols>;
  template <DType dtype, int rows, int cols>
  using WeightOperand = NvidiaLeftOperand<dtype, rows, cols>;
  template <auto config>
  using KTile = SwizzledTile<config.operand, config.tile_kv, config.head_dim_qk>;
  template <auto config>
  using VTile = SwizzledTile<config.operand, config.tile_kv, config.head_dim_vo>;
  template <int stages>
  using Barriers = NoBarriers<stages>;
  template <class>
  using Pending = NoPending;

  WF_DEVICE static bool computes() { return true; }

  /// All lanes are done with the tiles of the item before.
  WF_DEVICE static void begin_item() {
    isa::copy_async_wait<0>();
    team_sync();
  }

  template <class Tile, class Source>
  WF_DEVICE static void load_begin(Tile& tile, NoPending&, NoSlot, const Source& source,
                                   const Tail&, int, i32 first, i32 count) {
    if (count > 0) copy_rows_async<team_lanes>(tile, source, first, count, Wave::lane());
    isa::copy_async_commit();
  }
  /// K and V alternate in the order of their groups: when tile i of one is awaited, exactly one
  /// younger group of the other is in flight.
  template <class Tile, class Source, class Transform>
  WF_DEVICE static void load_end(Tile&, NoPending&, NoSlot, const Source&, i32, i32, bool,
                                 Transform&&) {
    isa::copy_async_wait<1>();
    team_sync();
  }
  template <class Operand, class Address, class Transform>
  WF_DEVICE static void load_left(Operand& to, DType, i32 rows, i32 dims, int lane,
                                  Address&& address, Transform&&) {
    load_left_operand(to, rows, dims, lane, address);
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
  template <class Accumulator>
  WF_DEVICE static void multiply_end(Accumulator&) {}
  template <class Weights, class Scores>
  WF_DEVICE static void to_weights(Weights& weights, const Scores& scores, Extent) {
    relayout(weights, scores);
  }
};

WF_NAMESPACE_END
