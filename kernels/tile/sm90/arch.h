// sm_90a as an architecture (concepts.h): warpgroups that compute with wgmma, 64 rows each, and one
// that loads.
#pragma once

#include "tile/sm90/copy.h"
#include "tile/sm90/finite.h"
#include "tile/sm90/grid.h"
#include "tile/sm90/limits.h"
#include "tile/sm90/mma.h"
#include "tile/sm90/pipeline.h"

WF_NAMESPACE_BEGIN(tile)

template <int warpgroups>
struct Sm90Team : NvidiaProducts<warpgroups * 4> {
  using Common = NvidiaProducts<warpgroups * 4>;
  using Common::team_barrier;
  using Common::team_lanes;
  using Common::team_sync;
  using Tail = KvTensorMaps;
  static constexpr int load_warps = 4;
  static constexpr int block_threads = team_lanes + load_warps * 32;
  // Shares of a thread in the registers that the block is launched with, in steps of eight. Who
  // asks for more than the others gave back waits for ever.
  static constexpr int launch_registers = 65536 / block_threads / 8 * 8;
  static constexpr int load_registers = 56;
  static constexpr int team_registers = warpgroups == 3 ? 144 : warpgroups == 2 ? 224 : 240;
  static_assert(load_warps * 32 * load_registers + team_lanes * team_registers <=
                block_threads * launch_registers);

  template <int rows, int cols>
  using Accumulator = Fragment<float, NvidiaAccumulatorLayout<rows, cols>>;
  template <auto config>
  using Output = Accumulator<config.tile_rows, config.head_dim_vo>;
  /// As many tiles as there is memory for: with two, an item's queries come during the item before.
  template <auto config>
  static constexpr int query_stages = config.head_dim_qk > 128 ? 1 : 2;
  template <auto config>
  using QueryTile =
      SliceTile<config.operand, config.tile_rows, config.head_dim_qk>[query_stages<config>];
  template <DType dtype, int rows, int cols>
  using LeftOperand = SharedSlices<SliceTile<dtype, rows, cols>>;
  template <DType dtype, int rows, int cols>
  using WeightOperand = NvidiaLeftOperand<dtype, rows, cols>;
  template <auto config>
  using KTile = SliceTile<config.operand, config.tile_kv, config.head_dim_qk>;
  template <auto config>
  using VTile = SliceTile<config.operand, config.tile_kv, config.head_dim_vo>;
  static constexpr int k_stages_ahead = 1;
  template <int stages>
  using Barriers = StageBarriers<stages, stages + k_stages_ahead>;
  struct NoPending {
    WF_DEVICE NoPending& k() { return *this; }
    WF_DEVICE NoPending& v() { return *this; }
  };
  template <class, class, class>
  using Pending = NoPending;

  static constexpr bool stages_output = true;  // whole rows go out by shared memory

  WF_DEVICE static i32 uniform(i32 a) { return static_cast<i32>(isa::shuffle(u32(a), 0)); }
  WF_DEVICE static int warpgroup() { return isa::thread() / warpgroup_lanes; }
  WF_DEVICE static void warpgroup_sync() {
    isa::barrier_of<warpgroup_lanes>(team_barrier + 1 + warpgroup());
  }
  // A warpgroup's turn to issue products: a barrier that the one before arrives at.
  static constexpr int turn_barrier = team_barrier + 1 + warpgroups;
  WF_DEVICE static void take_turn() {
    if constexpr (warpgroups > 1) {
      isa::barrier_of<2 * warpgroup_lanes>(turn_barrier + warpgroup());
    }
  }
  WF_DEVICE static void pass_turn() {
    if constexpr (warpgroups > 1) {
      const int next = warpgroup() + 1 < warpgroups ? warpgroup() + 1 : 0;
      isa::barrier_arrive_of<2 * warpgroup_lanes>(turn_barrier + next);
    }
  }
  WF_DEVICE static bool computes() { return isa::thread() < team_lanes; }
  WF_DEVICE static void begin_computing() {
    isa::take_registers<team_registers>();
    if (warpgroup() == warpgroups - 1) pass_turn();
  }
  WF_DEVICE static void begin_loading() { isa::give_registers<load_registers>(); }

  /// By the whole block, before the first item.
  template <class Barriers>
  WF_DEVICE static void init(Barriers& barriers) {
    if (isa::thread() == 0) barriers.init(32 * load_warps, team_lanes);
    isa::barrier<0, block_threads>();
  }
  WF_DEVICE static void begin_item(NoPending&) {}

  WF_DEVICE static void acquire(BarrierSlot slot) {
    isa::barrier_wait(slot.empty, slot.parity ^ 1);
  }
  WF_DEVICE static void release(BarrierSlot slot) { isa::barrier_arrive(slot.empty); }
  /// After sums of weights have been computed. ptxas moves arithmetic behind a later wait for
  /// wgmma unless a store before the wait depends on it; these sums are never negative.
  template <int n>
  WF_DEVICE static void release_after(BarrierSlot slot, const float (&sums)[n]) {
    float sum = sums[0];
    WF_UNROLL
    for (int i = 1; i < n; ++i) sum += sums[i];
    if (!(sum < 0.f)) isa::barrier_arrive(slot.empty);
  }

  template <class Tile, class Source>
  WF_DEVICE static void load_begin(Tile& tile, NoPending&, BarrierSlot slot, const Source& source,
                                   const Tail& tail, int which, i32 first, i32 count) {
    fill_stage<load_warps>(tile, slot, source, tail, which, (isa::thread() - team_lanes) / 32,
                           first, count);
  }
  template <class Tile, class Source, class Transform>
  WF_DEVICE static void load_end(Tile&, NoPending&, BarrierSlot slot, const Source&, i32, i32, bool,
                                 Transform&&) {
    isa::barrier_wait(slot.full, slot.parity);
  }
  /// The lane that writes what goes beside a tile, and arrives afterwards.
  WF_DEVICE static bool tells() { return isa::thread() == team_lanes; }
  WF_DEVICE static void await(BarrierSlot slot) { isa::barrier_wait(slot.full, slot.parity); }
  /// Into a stage that was acquired.
  template <class Tile, class Address>
  WF_DEVICE static void load_left_begin(Tile& tile, BarrierSlot slot, i32 rows, i32 dims,
                                        Address&& address) {
    fill_left<load_warps>(tile, (isa::thread() - team_lanes) / 32, rows, dims, address);
    isa::barrier_arrive(slot.full);
  }
  template <class Tile>
  WF_DEVICE static void load_left_end(SharedSlices<Tile>& to, Tile& tile) {
    to.base = isa::shared_address(tile.bytes) +
              static_cast<u32>(uniform(warpgroup()) * Tile::offset(warpgroup_rows, 0));
  }
  template <DType dtype, class Tile, class Output, class Address>
  WF_DEVICE static void store_staged(Tile& tile, const Output& output, i32 rows, i32 dims,
                                     Address&& address) {
    store_by_tile<dtype>(tile, output, rows, dims, address, [] { warpgroup_sync(); });
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
    if (!isa::barrier_any<team_barrier, team_lanes>(has_non_finite<team_lanes>(b))) return;
    take_non_finite(c, a, b, [] {
      isa::fence_async_proxy();
      team_sync();
    });
  }
  template <class Accumulator>
  WF_DEVICE static void multiply_end(Accumulator& c) {
    wgmma_end<0>(c);
  }
  /// The same while the product that began after it goes on.
  template <class Accumulator>
  WF_DEVICE static void older_multiply_end(Accumulator& c) {
    wgmma_end<1>(c);
  }
};

WF_NAMESPACE_END
