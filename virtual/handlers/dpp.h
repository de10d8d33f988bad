// DPP: source 0 comes from another lane ("CDNA3 ISA", "Data Parallel Processing").
#pragma once

#include "virtual/instruction.h"
#include "virtual/types.h"
#include "virtual/wave.h"

namespace instinct::INSTINCT_LEVEL {

// d = what each lane reads, 0 if it has no source and bound_ctrl is set. Returns the lanes that are
// written at all.
u64 move_lanes(const Wave& w, const Instruction& in, const u32* s, u32 words, Row* d);

}  // namespace instinct::INSTINCT_LEVEL
