// Loads in flight on sm_80: groups of cp.async, completed in order. No lane waits for another kind
// of lane, so that the slots which sm_90 waits on say no more here than how many stages there are.
#pragma once

#include "tile/sm80/isa.h"

WF_NAMESPACE_BEGIN(tile)

template <int stages>
struct GroupSlot {
  static_assert(stages >= 2);
  /// K and V alternate, and `stages - 1` tiles of each have been asked for when one is awaited: so
  /// many groups are younger than its own.
  static constexpr int younger = 2 * (stages - 1) - 1;
};

template <int stages>
struct NoBarriers {
  WF_DEVICE GroupSlot<stages> k_slot(u32) { return {}; }
  WF_DEVICE GroupSlot<stages> v_slot(u32) { return {}; }
};

WF_NAMESPACE_END
