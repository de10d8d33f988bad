// Loads in flight on sm_80: groups of cp.async, completed in order. No lane waits for another kind
// of lane, so that the slots which sm_90 waits on are empty here.
#pragma once

#include "tile/sm80/isa.h"

WF_NAMESPACE_BEGIN(tile)

struct NoSlot {};

template <int>
struct NoBarriers {
  WF_DEVICE NoSlot k_slot(i32) { return {}; }
  WF_DEVICE NoSlot v_slot(i32) { return {}; }
};

struct NoPending {};

WF_NAMESPACE_END
