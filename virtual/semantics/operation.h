// Vector instructions by mnemonic: how many registers they read and write, and what they compute.
//
// The caller gathers sources into rows (a constant or an SGPR as a row of equal words, 64-bit
// operands as two rows), evaluates into rows of its own, and merges the lanes that EXEC enables.
//   const Operation* op = find_operation("v_exp_f32_e32");  // once per instruction, at load
//   evaluate(*op, d, s, context);
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "types.h"

namespace instinct::semantics {

/// How neg, abs, clamp and omod read an operand; also its width.
enum class Type : u8 {
  none,
  b16,  // 16-bit integer or bits, in the low half (VOP3: the half op_sel names)
  b32,
  b64,
  f16,  // low half, or the half op_sel names
  f32,
  f64,
  packed,    // VOP3P: op_sel, neg and neg_hi are applied by the operation itself
  packed64,  // two rows: v_pk_*_f32, v_pk_mov_b32
  rows3,     // 3, 4, 6, 8, 16 and 32 rows of bits: packed fp6, fp4 and their floats
  rows4,
  rows6,
  rows8,
  rows16,
  rows32,
  mask,  // a wave mask, one bit per lane: vcc or an SGPR pair; passed in and out by Context
};

/// Rows that an operand of this type takes; 0 for none and mask.
int rows_of(Type type);

/// `d` must not overlap a source. It holds the destination's old value on entry where
/// `reads_destination` says so (partial writes such as op_sel's halves, v_fmac, v_dot2c).
using Evaluate = void (*)(Row* d, const Row* const* s, Context& context);

struct Operation {
  std::string_view mnemonic;  // without _e32, _e64, _sdwa, _dpp
  Evaluate run = nullptr;
  Type destination = Type::none;
  std::array<Type, 4> sources{};  // none where absent
  bool reads_destination = false;
  bool own_modifiers = false;  // the operation applies every modifier itself (VOP3P, mix, scaled)

  int source_count() const {
    int n = 0;
    while (n < 4 && sources[n] != Type::none) ++n;
    return n;
  }
};

/// The operation that LLVM prints under this name, with or without _e32 / _e64 / _sdwa / _dpp;
/// nullptr if this library has none.
const Operation* find_operation(std::string_view mnemonic);

/// Every operation, sorted by mnemonic.
std::span<const Operation> operations();

/// d = operation(s) for all 64 lanes, with neg, abs, op_sel, omod and clamp applied as VOP3 and
/// VOP3P do. omod is ignored where the mode keeps denormals of the result (CDNA3 ISA guide, VOP3).
void evaluate(const Operation& operation, Row* d, const Row* const* s, Context& context);

/// Lanes for which a v_cmp_* or v_cmp_class_* holds (all 64: the caller applies EXEC).
using Compare = u64 (*)(const Row* const* s, const Mode& mode);

struct Comparison {
  std::string_view mnemonic;  // without v_cmpx: the caller writes EXEC
  Compare run = nullptr;
  Type sources = Type::none;  // of the first; v_cmp_class takes b32 as its second
};

const Comparison* find_comparison(std::string_view mnemonic);
std::span<const Comparison> comparisons();

/// As `evaluate`: neg and abs are applied to copies of the sources.
u64 compare(const Comparison& comparison, const Row* const* s, const Context& context);

}  // namespace instinct::semantics
