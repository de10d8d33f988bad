// sm_90a as an architecture (concepts.h): a warpgroup that computes with wgmma and a warp that
// loads.
#pragma once

#include "tile/sm80/finite.h"
#include "tile/sm90/copy.h"
#include "tile/sm90/grid.h"
#include "tile/sm90/limits.h"
#include "tile/sm90/mma.h"
#include "tile/sm90/pipeline.h"

WF_NAMESPACE_BEGIN(tile)

struct Sm90 : NvidiaCommon<4> {
  using Tail = KvTensorMaps;
  static constexpr int loaders = 32;  // the lanes behind the team
  static constexpr int block_threads = team_lanes + loaders;

  template <int rows, int cols>
  using Accumulator = Fragment<float, NvidiaAccumulatorLayout<rows, cols>>;
  template <auto config>
  using Output = Accumulator<config.tile_rows, config.head_dim_vo>;
  template <DType dtype, int rows, int cols>
  using LeftOperand = NvidiaLeftOperand<dtype, rows, cols>;
  template <DType dtype, int rows, int cols>
  using WeightOperand = NvidiaLeftOperand<dtype, rows, cols>;
  template <auto config>
  struct KTile : SliceTile<config.operand, config.tile_kv, config.head_dim_qk> {
    static constexpr bool tensor_maps = config.tensor_maps;
  };
  template <auto config>
  struct VTile : SliceTile<config.operand, config.tile_kv, config.head_dim_vo> {
    static constexpr bool tensor_maps = config.tensor_maps;
  };
  struct NoQueryTile {};  // queries stay in registers
  template <auto>
  using QueryTile = NoQueryTile;
  template <int stages>
  using Barriers = StageBarriers<stages>;
  struct NoPending {
    WF_DEVICE NoPending& k() { return *this; }
    WF_DEVICE NoPending& v() { return *this; }
  };
  template <class, class, class>
  using Pending = NoPending;

  WF_DEVICE static bool computes() { return isa::thread() < team_lanes; }

  /// By the whole block, before the first item.
  template <class Barriers>
  WF_DEVICE static void init(Barriers& barriers) {
    if (isa::thread() == 0) barriers.init(loaders, team_lanes);
    isa::barrier<0, block_threads>();
  }
  WF_DEVICE static void begin_item(NoPending&) {}

  WF_DEVICE static void acquire(BarrierSlot slot) {
    isa::barrier_wait(slot.empty, slot.parity ^ 1);
  }
  WF_DEVICE static void release(BarrierSlot slot) { isa::barrier_arrive(slot.empty); }

  template <class Tile, class Source>
  WF_DEVICE static void load_begin(Tile& tile, NoPending&, BarrierSlot slot, const Source& source,
                                   const Tail& tail, int which, i32 first, i32 count) {
    fill_stage<loaders, Tile::tensor_maps>(tile, slot, source, tail.map[which], first, count);
  }
  template <class Tile, class Source, class Transform>
  WF_DEVICE static void load_end(Tile&, NoPending&, BarrierSlot slot, const Source&, i32, i32, bool,
                                 Transform&&) {
    isa::barrier_wait(slot.full, slot.parity);
  }
  template <class Operand, class Address, class Transform>
  WF_DEVICE static void load_left(Operand& to, NoQueryTile&, DType, i32 rows, i32 dims, int lane,
                                  Address&& address, Transform&&) {
    load_left_operand(to, rows, dims, lane, address);
  }

  template <class Scores, class Operand, class Tile>
  WF_DEVICE static void multiply_abt_begin(Scores& c, const Operand& a, const Tile& b, Extent,
                                           int) {
    wgmma_abt(c, a, b);
  }
  template <class Output, class Weights, class Tile>
  WF_DEVICE static void multiply_ab_begin(Output& c, const Weights& a, const Tile& b, Extent, int) {
    wgmma_ab(c, a, b);
  }
  template <class Output, class Weights, class Tile>
  WF_DEVICE static void add_non_finite(Output& c, const Weights& a, Tile& b, Extent, int) {
    take_non_finite(c, a, b, [] {
      isa::fence_async_proxy();
      team_sync();
    });
  }
  template <class Accumulator>
  WF_DEVICE static void multiply_end(Accumulator&) {
    isa::wgmma_wait<0>();
  }
  template <class Weights, class Scores>
  WF_DEVICE static void to_weights(Weights& weights, const Scores& scores, Extent) {
    relayout(weights, scores);
  }
};

WF_NAMESPACE_END
