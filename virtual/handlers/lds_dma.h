// Loads from memory straight to LDS.
#pragma once

#include "virtual/handlers/memory.h"

namespace instinct::INSTINCT_LEVEL {

// Writes what the lanes of `places` read, `bytes` each, to LDS at M0 + offset + lane * size, where
// the size is 4 for less than a word ("CDNA3 ISA", "LDS direct loads": LDS_ADDR = LDS_BASE + M0 +
// inst_offset + TID * 4; CDNA4 for 12 and 16 bytes).
void copy_to_lds(Wave& w, const Instruction& in, const Places& places, u32 bytes);

}  // namespace instinct::INSTINCT_LEVEL
