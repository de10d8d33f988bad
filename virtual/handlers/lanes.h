// How handlers read and write registers. Everything here is compiled for a level of the CPU and
// must not be shared between levels: functions are inline in a namespace of the level.
#pragma once

#include "virtual/checks.h"
#include "virtual/opcode.h"
#include "virtual/workgroup.h"

namespace instinct::INSTINCT_LEVEL {

// What all lanes of `mask` have set, as words.
void expand_mask(u64 mask, u32* words);
// A bit for each word whose sign is set.
u64 sign_mask(const u32* words);
// A bit for each word that is not zero.
u64 nonzero_mask(const u32* words);
// d = mask ? s : d
void blend(u32* d, const u32* s, u64 mask);

[[noreturn]] void unsupported(const Wave& w, const Instruction& in, const char* what);

// Scalars.
u32 read_scalar(const Wave& w, const Operand& operand);
u64 read_scalar64(const Wave& w, const Operand& operand);
void write_scalar(Wave& w, const Operand& operand, u32 value);
void write_scalar64(Wave& w, const Operand& operand, u64 value);
// Undefined bits of them.
u32 undefined_scalar(const Wave& w, const Operand& operand);
u64 undefined_scalar64(const Wave& w, const Operand& operand);
void set_undefined_scalar(Wave& w, const Operand& operand, u32 bits);
void set_undefined_scalar64(Wave& w, const Operand& operand, u64 bits);
bool any_undefined_scalar(const Wave& w, const Instruction& in);

inline u32* row(Wave& w, u32 index) { return w.vector[index].lane; }
inline u32* undefined_row(Wave& w, u32 index) { return w.undefined[index].lane; }
extern const Row zero_rows[16];

bool any_undefined(const Wave& w, const Instruction& in);

// Rows with the value of a source in all lanes; `scratch` takes them if they are not a register.
const u32* source_rows(Wave& w, const Operand& operand, u32 words, Row* scratch);
const u32* undefined_rows(Wave& w, const Operand& operand, u32 words, Row* scratch);

// Results were written to `words` registers from `first` in the lanes of `mask`: sets (from `u`,
// or clears if that is nullptr) what is undefined.
void set_undefined(Wave& w, u32 first, u32 words, u64 mask, const u32* u);

// The sources of a vector instruction with modifiers, DPP and SDWA applied.
struct Sources {
  const u32* row[4];
  const u32* undefined[4];
  u64 mask;    // lanes that are written
  bool dirty;  // `undefined` is set
  Row scratch[4][2];
  Row undefined_scratch[4][2];
};
void load_sources(Wave& w, const Instruction& in, Sources& s);
// Any undefined bit of a lane's sources makes its result undefined.
void spread(const Instruction& in, const Sources& s, u32* d, u32 words);
// Result modifiers, masks; then the destination.
void store_result(Wave& w, const Instruction& in, const Operand& dst, u32 words, Row* result,
                  const u32* undefined, u64 mask);

// Handlers that many mnemonics share.
void run_lanes(Wave& w, const Instruction& in);    // LaneKernel
void run_compare(Wave& w, const Instruction& in);  // MaskKernel

}  // namespace instinct::INSTINCT_LEVEL
