// What an instruction does: the table of mnemonics.
#pragma once

#include <string_view>
#include <vector>

#include "virtual/instruction.h"
#include "virtual/profile.h"
#include "virtual/types.h"
#include "virtual/wave.h"

namespace instinct {

using Handler = void (*)(Wave&, const Instruction&);

// What a lane kernel may know besides its sources.
struct LaneContext {
  const Instruction& in;
  u64 exec;
  u32 mode;
};
// Computes all 64 lanes: d, s[i] are rows of 64 words; a wider value has its words in consecutive
// rows. d may be the same rows as a source, if the result has one word.
using LaneKernel = void (*)(u32* d, const u32* const* s, const LaneContext& context);
// The same for undefined bits: u[i] are those of s[i].
using ShadowKernel = void (*)(u32* d, const u32* const* s, const u32* const* u,
                              const LaneContext& context);
// A comparison: a bit for each lane.
using MaskKernel = u64 (*)(const u32* const* s, const LaneContext& context);

// The type of the sources; decides what an inline constant such as 1.0 or a literal means.
enum class Type : u8 { b32, b64, i64, f16, bf16, f32, f64, b16 };

enum OpcodeFlag : u16 {
  reads_dst = 1 << 0,    // the destination is a source too (v_fmac, d16 loads, ...)
  moves_lanes = 1 << 1,  // v_readlane and the like: ignores EXEC
  writes_scc = 1 << 2,
  reads_scc = 1 << 3,
  reads_vcc = 1 << 4,     // without naming it
  writes_vcc = 1 << 5,    // likewise
  writes_exec = 1 << 6,   // likewise
  is_dot = 1 << 7,        // dot products have wait states of their own
  float_result = 1 << 8,  // clamp and omod work on floats
  is_store = 1 << 9,
  keeps_high = 1 << 10,  // a 16-bit result that leaves the other half
  in_f64 = 1 << 11,      // matrix instruction in f64
  not_xdl = 1 << 15,     // matrix instruction in f32: another pipe (LLVM, isXDL)
  is_atomic = 1 << 12,
  is_packed = 1 << 13,   // op_sel, op_sel_hi, neg_lo, neg_hi have their packed meaning
  writes_lds = 1 << 14,  // writes LDS at M0
};

struct Opcode {
  std::string_view name;
  Handler handler = nullptr;
  Unit unit = Unit::other;
  Type type = Type::b32;
  u8 destinations = 1;  // operands that are written, printed first
  u8 dst_words = 1;
  u8 src_words[4] = {1, 1, 1, 1};
  Type src_type[4] = {Type::b32, Type::b32, Type::b32, Type::b32};
  u16 flags = 0;
  u8 passes = 0;                  // matrix instructions: of four cycles each
  const void* data = nullptr;     // what the handler wants to know (matrix instructions)
  bool mixed = false;             // op_sel_hi says which sources are halves; none if not printed
  u8 targets = 3;                 // bit 0 gfx942, bit 1 gfx950
  void (*kernel)() = nullptr;     // LaneKernel or MaskKernel, as the handler wants it
  ShadowKernel shadow = nullptr;  // nullptr: any undefined bit makes all of the lane undefined
};

// Adds an entry to the table that is being built (handlers/table.cpp).
void register_opcode(const Opcode& opcode);

// Names of the CPU levels that were compiled and run here, the best last; and, before the table is
// first used, a choice of one for tests.
std::vector<std::string_view> runnable_levels();
void choose_level(std::string_view level);

// The table for this CPU: by mnemonic without its suffix _e32, _e64, _dpp or _sdwa.
const Opcode* find_opcode(std::string_view mnemonic, Target target);
// All of them, for tests.
std::vector<const Opcode*> all_opcodes(Target target);

}  // namespace instinct
