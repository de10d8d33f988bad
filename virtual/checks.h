// What is checked besides memory: undefined values, waits, wait states.
#pragma once

#include "virtual/instruction.h"
#include "virtual/types.h"
#include "virtual/wave.h"

namespace instinct {

// The handler of what is not an instruction, or not implemented.
void stop_at_unknown(Wave& wave, const Instruction& in);

// Wait states (hazards.cpp). Sets `hazards` and `produces` of a parsed instruction.
void classify_hazards(Instruction& in);
// Stops if `in`, which comes next, comes too early.
void check_hazards(Wave& wave, const Instruction& in);
// It was issued.
void note_issued(Wave& wave, const Instruction& in);

// Loads under way. Stops if `in` touches a register that one will write.
void check_pending(Wave& wave, const Instruction& in);
void push_vm(Wave& wave, const InFlight& entry);
void push_lgkm(Wave& wave, const InFlight& entry);
void wait_for(Wave& wave, const Waits& waits);
// What of LDS a wave still has under way when it passes a barrier belongs to the next epoch.
void carry_lds_over_barrier(Wave& wave);

// A value decides something: stops, as it is undefined. `bits` are the undefined ones.
void use_scalar(Wave& wave, const Instruction& in, u32 first, u64 bits, const char* as);
// The same for a vector register, undefined in `lanes`.
void use_vector(Wave& wave, const Instruction& in, u32 index, u64 lanes, const char* as);

// v7, a0, s3, vcc_lo, ...
std::string register_name(u32 vector);
std::string scalar_name(u32 scalar);

}  // namespace instinct
