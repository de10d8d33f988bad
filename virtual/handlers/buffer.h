// Addresses by buffer descriptor.
#pragma once

#include "virtual/handlers/memory.h"

namespace instinct::INSTINCT_LEVEL {

struct BufferPlaces {
  u64 mask;   // active lanes
  u64 whole;  // lanes whose access lies inside as a whole
  u64 address[64];
  u8 inside[64];  // bytes of the access that lie inside, from its start
};
// `vaddr`: which operand; descriptor and scalar offset follow it.
void buffer_addresses(Wave& w, const Instruction& in, u32 vaddr, u32 bytes, BufferPlaces& b);

}  // namespace instinct::INSTINCT_LEVEL
