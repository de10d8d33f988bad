// Stages that one warp fills and a warpgroup empties. Each stage has two mbarriers, `full` and
// `empty`.
#pragma once

#include "tile/sm90/isa.h"

WF_NAMESPACE_BEGIN(tile)

struct BarrierSlot {
  u32 full;
  u32 empty;
  u32 parity;  // of this use of the stage
};

template <int stages>
struct alignas(8) StageBarriers {
  u64 k_full[stages], k_empty[stages], v_full[stages], v_empty[stages];

  WF_DEVICE BarrierSlot k_slot(i32 i) { return slot(k_full, k_empty, i); }
  WF_DEVICE BarrierSlot v_slot(i32 i) { return slot(v_full, v_empty, i); }

  /// By one thread, before any use.
  WF_DEVICE void init(int fillers, int users) {
    for (int s = 0; s < stages; ++s) {
      isa::barrier_init(isa::shared_address(&k_full[s]), fillers);
      isa::barrier_init(isa::shared_address(&v_full[s]), fillers);
      isa::barrier_init(isa::shared_address(&k_empty[s]), users);
      isa::barrier_init(isa::shared_address(&v_empty[s]), users);
    }
    isa::fence_barrier_init();
  }

 private:
  WF_DEVICE static BarrierSlot slot(u64* full, u64* empty, i32 i) {
    const i32 stage = i % stages;
    return {isa::shared_address(&full[stage]), isa::shared_address(&empty[stage]),
            static_cast<u32>(i / stages) & 1};
  }
};

WF_NAMESPACE_END
