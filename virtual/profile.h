// What a launch executed: counted by instruction, and cycles by a simple model of a compute unit.
#pragma once

#include <string>
#include <vector>

#include "virtual/code_object.h"
#include "virtual/types.h"

namespace instinct {

// What issues an instruction. `other` needs no unit: s_nop, s_waitcnt, s_barrier and the like.
enum class Unit : u8 {
  salu,
  branch,
  scalar_memory,
  valu,
  transcendental,
  matrix,
  lds,
  vector_memory,
  other
};
inline constexpr int unit_count = 9;
const char* name_of(Unit unit);

struct UnitCounts {
  u64 executed[unit_count] = {};
  u64 total() const;
};

// What the cycles of a SIMD went to; mean of the four of a compute unit.
struct Cycles {
  u64 total = 0;
  u64 busy[unit_count] =
      {};           // the unit had work under way; LDS and memory are those of the whole CU
  u64 issuing = 0;  // some wave issued something
  // No wave could issue. Most of them were waiting ...
  u64 waiting_memory = 0;   // for vmcnt
  u64 waiting_lds = 0;      // for lgkmcnt
  u64 waiting_barrier = 0;  // at a barrier, or their work was done
  u64 waiting_result = 0;   // for a result, a jump, or s_nop
  u64 waiting_unit = 0;     // for a unit that was busy

  // The share of the time in which the matrix unit worked: the predicted share of peak.
  double matrix_share() const;
};

struct Loop {
  u64 first = 0, last = 0;  // addresses in the file, inclusive
  u64 iterations = 0;       // of all waves; 0: there is no loop
  UnitCounts counts;        // of all iterations
  Cycles cycles;            // while every wave of the modelled compute unit was inside
};

struct Profile {
  std::string kernel;
  u64 waves = 0;
  u64 instructions = 0;
  UnitCounts counts;
  u32 workgroups_modelled = 0;  // on one compute unit, side by side
  u32 waves_per_simd = 0;
  Cycles cycles;
  Loop main_loop;             // the innermost loop with the most instructions
  std::vector<u64> executed;  // for each instruction of the program, all waves

  std::string text() const;  // a table for people
};

}  // namespace instinct
