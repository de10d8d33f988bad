// Undefined bits of results, where they are known better than lane by lane.
#pragma once

#include "virtual/handlers/lanes.h"

namespace instinct::INSTINCT_LEVEL {

// Functions of a lane's words a, b, c and their undefined bits ua, ub, uc.
template <class F>
void shadow_lanes(u32* d, const u32* const* s, const u32* const* u, F f) {
  for (u32 i = 0; i < 64; ++i) d[i] = f(s, u, i);
}

void shadow_move(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_move64(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_and(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_or(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_xor(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_or3(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_and_or(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_lshl_or(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
// Shifts by source 0 of source 1: undefined bits move along.
void shadow_lshlrev(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_lshrrev(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_ashrrev(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_bfe_u32(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_bfe_i32(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_bfi(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_perm(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_alignbit(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_alignbyte(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
// Halves do not mix.
void shadow_packed16(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
void shadow_low16(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);
// Of a multi-word result each word depends on that word of the sources.
void shadow_words(u32* d, const u32* const* s, const u32* const* u, const LaneContext&);

}  // namespace instinct::INSTINCT_LEVEL
