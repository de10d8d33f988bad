// What a kernel did wrong, and where.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "virtual/code_object.h"
#include "virtual/types.h"

namespace instinct {

enum class Fault : u8 {
  out_of_bounds,        // an access outside of every allocation, of LDS or of scratch
  race,                 // two waves (or lanes) at one place in LDS between barriers
  undefined_value,      // something that nothing wrote reached an address, branch, EXEC or store
  not_waited_for,       // a register or LDS was used while a load to it was under way
  wait_states,          // too few instructions between two that the hardware does not interlock
  barrier,              // barriers that not every wave reaches
  stuck,                // no wave makes progress
  unknown_instruction,  // not decoded, or not implemented
  unsupported,          // something of an instruction that is not implemented
  bad_program_counter,
};

std::string_view name_of(Fault fault);

struct Report {
  Fault fault = Fault::unsupported;
  std::string kernel;
  std::string function;     // that contains the instruction
  std::string instruction;  // its text
  u64 address = 0;          // in the file, as objdump prints it
  std::optional<SourceLine> line;
  u32 workgroup[3] = {};
  u32 wave = 0;
  int lane = -1;  // -1: all of them, or a scalar
  std::string message;

  // All of the above in a few lines.
  std::string text() const;
};

// Which checks run. Accesses to LDS and scratch are always kept inside.
struct Checks {
  bool bounds = true;
  bool races = true;
  bool undefined = true;
  bool waits = true;
  bool hazards = true;
  bool barriers = true;

  static Checks none() { return {false, false, false, false, false, false}; }
  // "all", "none", or names as above separated by commas. Throws Error.
  static Checks parse(std::string_view text);
};

}  // namespace instinct
