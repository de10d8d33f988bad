// What of an instruction depends on its opcode, once its text is parsed.
#pragma once

#include "virtual/instruction.h"

namespace instinct {

// `op_sel_hi` of an instruction whose text has none: the opcode decides.
inline constexpr u8 op_sel_not_printed = 0x80;

// Sets destinations, constants, the registers that are read and written, defaults of modifiers.
void apply_opcode(Instruction& in);

}  // namespace instinct
