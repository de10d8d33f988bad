// CDNA as an architecture (concepts.h): a team of one wave for every 32 rows, MFMA, LDS filled
// through registers. The instructions (isa.h of gfx942 or gfx950) come before.
#pragma once

#include "tile/cdna/copy.h"
#include "tile/cdna/finite.h"
#include "tile/cdna/grid.h"
#include "tile/cdna/mma.h"
#include "tile/cdna/pipeline.h"

WF_NAMESPACE_BEGIN(tile)

template <bool takes_turns, int stages>
struct BarriersOf : NoBarriers<stages> {};
template <>
struct BarriersOf<true, LeftOut::stages> : LeftOut {};

template <int waves>
struct CdnaTeam : CdnaCommon<waves> {
  using Common = CdnaCommon<waves>;
  using Common::team_lanes;
  using Common::team_sync;
  struct Tail {};
  /// Eight waves take turns (schedule/ping_pong.h): one half loads K and the other V, in the same
  /// registers.
  static constexpr bool takes_turns = waves == 8;

  template <int rows, int cols>
  using Accumulator = Fragment<float, CdnaAccumulatorLayout<rows, cols>>;
  template <auto config>
  using Output = Accumulator<config.tile_rows, config.head_dim_vo>;
  template <DType dtype, int rows, int cols>
  using LeftOperand = CdnaLeftOperand<dtype, rows, cols>;
  template <DType dtype, int rows, int cols>
  using WeightOperand = CdnaLeftOperand<dtype, rows, cols>;
  template <auto config>
  using KTile = PaddedTile<config.operand, config.tile_kv, config.head_dim_qk>;
  template <auto config>
  using VTile = TransposedTile<config.operand, config.tile_kv, config.head_dim_vo>;
  struct NoQueryTile {};  // queries stay in registers
  template <auto>
  using QueryTile = NoQueryTile;
  template <int stages>
  using Barriers = BarriersOf<takes_turns, stages>;
  static constexpr int loading_lanes = takes_turns ? team_lanes / 2 : team_lanes;
  template <class Tile, class Place>
  struct PendingPart {
    PendingTile<Tile, loading_lanes> tile;
    NextPlace<Place>& next;
  };
  template <class KTile, class VTile, class Place>
  struct Pending {
    NextPlace<Place> next;
    PendingChunks<KTile, loading_lanes> k_chunks;
    PendingChunks<VTile, loading_lanes> v_chunks;
    WF_DEVICE auto k() { return PendingPart<KTile, Place>{{k_chunks.chunk}, next}; }
    WF_DEVICE auto v() {
      if constexpr (takes_turns) {
        static_assert(KTile::rows * KTile::chunks == VTile::rows * VTile::chunks);
        return PendingPart<VTile, Place>{{k_chunks.chunk}, next};
      } else {
        return PendingPart<VTile, Place>{{v_chunks.chunk}, next};
      }
    }
  };

  template <class Barriers>
  WF_DEVICE static void init(Barriers& barriers) {
    if constexpr (takes_turns) {
      barriers.clear();
      team_sync();
    }
  }
  template <class Pending>
  WF_DEVICE static void begin_item(Pending& pending) {
    pending.next.first = -1;
  }

  template <class Tile, class Place, class Source>
  WF_DEVICE static void load_begin(Tile&, PendingPart<Tile, Place> pending, NoSlot,
                                   const Source& source, const Tail&, int which, i32 first,
                                   i32 count) {
    if (count <= 0) return;
    if constexpr (requires { source.neighbours(first); }) {
      if (const char* from = source.neighbours(first)) {
        fetch_neighbours(pending.tile, from, source.row_bytes(), source.columns(), count);
        return;
      }
    }
    look_up<Tile::rows>(pending.next, source, first);
    fetch_rows(pending.tile, source, pending.next.place, count);
    if (takes_turns || which == 1) {
      look_up<Tile::rows>(pending.next, source, first + Tile::rows);
    }
  }
  /// Between two barriers: every wave is done with the tile before, and every wave sees the new
  /// one. In turns the schedule has them.
  template <class Tile, class Place, class Source, class Transform>
  WF_DEVICE static void load_end(Tile& tile, PendingPart<Tile, Place> pending, NoSlot,
                                 const Source& source, i32, i32 count, bool, Transform&&) {
    if constexpr (!takes_turns) team_sync();
    if (count > 0) {
      clear_behind(pending.tile, count, source.columns());
      place_rows(tile, pending.tile);
    }
    if constexpr (!takes_turns) team_sync();
  }
  template <class Operand, class Address, class Transform>
  WF_DEVICE static void load_left(Operand& to, NoQueryTile&, DType, i32 rows, i32 dims, int lane,
                                  Address&& address, Transform&&) {
    load_left_operand(to, rows, dims, lane, address);
  }

  template <class Scores, class Operand, class Tile>
  WF_DEVICE static void multiply_abt_begin(Scores& c, const Operand& a, const Tile& b, Extent,
                                           int) {
    mfma_abt(c, a, b);
  }
  template <class Output, class Weights, class Tile>
  WF_DEVICE static void multiply_ab_begin(Output& c, const Weights& a, const Tile& b, Extent, int) {
    mfma_ab(c, a, b);
  }
  template <class Output, class Weights, class Tile>
    requires(!takes_turns)
  WF_DEVICE static void add_non_finite(Output& c, const Weights& a, Tile& b, Extent, int) {
    take_non_finite(c, a, b, [] { team_sync(); });
  }
  // In turns: when the tile is placed, and before its product. `row_of` gives where a row lies in
  // memory.
  template <class Tile, class Place>
  WF_DEVICE static void leave_out(PendingPart<Tile, Place> pending, LeftOut& left_out, i32 number) {
    leave_out_non_finite(pending.tile, left_out, number);
  }
  template <class Tile, class Output, class Weights, class RowOf>
  WF_DEVICE static void add_left_out(Output& c, const Weights& a, const LeftOut& left_out,
                                     i32 number, i32 dims, RowOf&& row_of) {
    for (u64 rows = left_out.rows(number, Tile::rows); rows != 0; rows &= rows - 1) {
      const int key = __builtin_ctzll(rows);
      tile::add_left_out<Tile::dtype>(c, a, key, row_of(key), dims);
    }
  }
  template <class Accumulator>
  WF_DEVICE static void multiply_end(Accumulator&) {}
  template <class Weights, class Scores>
  WF_DEVICE static void to_weights(Weights& weights, const Scores& scores, Extent) {
    relayout(weights, scores);
    if constexpr (takes_turns) {
      WF_UNROLL
      for (Short4& four : weights.r) isa::compute_now(four);  // in this turn
    }
  }
};

WF_NAMESPACE_END
