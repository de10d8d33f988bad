// What waves executed, in order, with what depends on their addresses.
#pragma once

#include <vector>

#include "virtual/types.h"

namespace instinct {

struct TraceEntry {
  u32 index = 0;  // of the instruction
  u32 cost = 0;   // cycles of LDS or of the memory path
};

// A workgroup's, one list for each wave.
using Trace = std::vector<std::vector<TraceEntry>>;

// Cycles that LDS needs for an access: for each group of lanes that it serves at once, the most
// words that fall to one bank (conflicts.cpp).
u32 lds_cycles(Target target, const u32* address, u64 mask, u32 bytes, bool writes);
// Cycles of a compute unit's path to memory: addresses of 16 lanes, and 64 bytes, in each.
u32 memory_cycles(const u64* address, u64 mask, u32 bytes);

}  // namespace instinct
