// What a launch executed: counted by instruction, and cycles by a simple model of a compute unit.
#pragma once

#include <string>
#include <vector>

#include "virtual/code_object.h"
#include "virtual/types.h"

namespace instinct {

// What issues an instruction. `other` needs no unit: s_nop, s_waitcnt, s_barrier and the like.
enum class Unit : u8 { salu, branch, scalar_memory, valu, transcendental, matrix, lds, vector_memory, other };
inline constexpr int kUnits = 9;
const char* name_of(Unit unit);

struct UnitCounts {
  u64 executed[kUnits] = {};
  u64 total() const;
};

// What cycles of a SIMD went to. Shares of all cycles, of which several can hold at once.
struct Cycles {
  u64 total = 0;
  u64 busy[kUnits] = {};    // the unit had an instruction under way (LDS, scalar: of the whole CU)
  u64 waiting_memory = 0;   // no wave could issue: all wait, most for vmcnt
  u64 waiting_lds = 0;      // ... for lgkmcnt
  u64 waiting_barrier = 0;  // ... at a barrier
  u64 waiting_result = 0;   // ... for a result or for s_nop
  u64 waiting_unit = 0;     // ... for a unit that is busy
  u32 waves_per_simd = 0;

  double matrix_share() const;  // matrix busy / total: the predicted share of peak
};

struct Loop {
  u64 first = 0, last = 0;  // addresses in the file, inclusive
  u64 iterations = 0;       // of all waves
  UnitCounts counts;        // of all iterations
  Cycles cycles;            // while every wave of the modelled SIMD is inside
};

struct Profile {
  std::string kernel;
  u64 waves = 0;
  u64 instructions = 0;
  UnitCounts counts;
  Cycles cycles;
  Loop main_loop;  // the innermost loop with the most instructions; iterations 0: none
  std::vector<u64> executed;  // for each instruction of the program, all waves

  std::string text() const;  // a table for people
};

}  // namespace instinct
