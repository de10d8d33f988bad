// Stages that some lanes fill and others empty. Each stage has two mbarriers, `full` and `empty`,
// at which every lane arrives by itself: one arrival for a warp, after a warp barrier, is as right
// and no faster, but racecheck takes the other lanes' accesses for unordered.
#pragma once

#include "tile/sm90/isa.h"

WF_NAMESPACE_BEGIN(tile)

struct BarrierSlot {
  u32 full;
  u32 empty;
  u32 parity;  // of this use of the stage
};

template <int stages, int k_stages>
struct alignas(8) StageBarriers {
  static constexpr int most_query_stages = 2;
  u64 k_full[k_stages], k_empty[k_stages], v_full[stages], v_empty[stages];
  u64 q_full[most_query_stages], q_empty[most_query_stages];

  template <int query_stages>
  WF_DEVICE BarrierSlot q_slot(u32 i) {
    static_assert(query_stages <= most_query_stages);
    return slot<query_stages>(q_full, q_empty, i);
  }
  WF_DEVICE BarrierSlot k_slot(u32 i) { return slot<k_stages>(k_full, k_empty, i); }
  WF_DEVICE BarrierSlot v_slot(u32 i) { return slot<stages>(v_full, v_empty, i); }

  /// By one thread, before any use.
  WF_DEVICE void init(int fillers, int users) {
    const auto init_all = [](auto& barriers, int arrivals) {
      for (u64& barrier : barriers) isa::barrier_init(isa::shared_address(&barrier), arrivals);
    };
    init_all(k_full, fillers);
    init_all(v_full, fillers);
    init_all(q_full, fillers);
    init_all(k_empty, users);
    init_all(v_empty, users);
    init_all(q_empty, users);
    isa::fence_barrier_init();
  }

 private:
  template <int count>
  WF_DEVICE static BarrierSlot slot(u64* full, u64* empty, u32 i) {
    const u32 stage = i % count;
    return {isa::shared_address(&full[stage]), isa::shared_address(&empty[stage]), i / count & 1};
  }
};

WF_NAMESPACE_END
