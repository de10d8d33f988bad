// Matrix instructions: operands from registers; what they compute is in semantics/matrix.h.
#include "virtual/semantics/matrix.h"

#include <cstring>

#include "virtual/handlers/define.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

const Matrix& matrix_of(const Instruction& in) {
  return *static_cast<const Matrix*>(in.opcode->data);
}

// Whether all bits of the factors are defined after all.
bool factors_defined(Wave& w, const Instruction& in, const Matrix& matrix) {
  for (u32 i = 0; i < in.sources; ++i) {
    const Operand& source = in.src(i);
    if ((i == 2 && !matrix.sparse) || !source.is_vector()) continue;
    for (u32 k = 0; k < source.count; ++k) {
      if (w.dirty.test(source.first + k) && nonzero_mask(undefined_row(w, source.first + k))) {
        return false;
      }
    }
  }
  return true;
}

// Undefined bits anywhere in a row of A or a column of B spoil that row or column; here the whole
// result, as correct kernels do not multiply what they did not write.
void spread_matrix(Wave& w, const Instruction& in, const Matrix& matrix) {
  const Operand& d = in.dst();
  if (!factors_defined(w, in, matrix)) {
    for (u32 k = 0; k < d.count; ++k) {
      std::memset(undefined_row(w, d.first + k), 0xff, sizeof(Row));
      w.dirty.set(d.first + k);
    }
    return;
  }
  // Element by element from C.
  const Operand& c = matrix.sparse ? d : in.src(2);
  for (u32 k = 0; k < d.count; ++k) {
    const bool dirty = c.is_vector() && w.dirty.test(c.first + k);
    if (!dirty) {
      w.dirty.reset(d.first + k);
      continue;
    }
    const u32* u = undefined_row(w, c.first + k);
    u32* to = undefined_row(w, d.first + k);
    for (u32 i = 0; i < 64; ++i) to[i] = u[i] ? ~0u : 0;
    w.dirty.set(d.first + k);
  }
}

u64 constant_c(const Instruction& in, const Wave& w, const Operand& c) {
  return in.opcode->flags & in_f64 ? read_scalar64(w, c) : read_scalar(w, c);
}

void run_matrix(Wave& w, const Instruction& in) {
  const Matrix& matrix = matrix_of(in);
  MatrixOperands operands;
  operands.d = row(w, in.dst().first);
  operands.a = row(w, in.src(0).first);
  operands.b = row(w, in.src(1).first);
  const Operand& c = in.src(2);
  if (matrix.sparse) {
    operands.c = operands.d;
    operands.index = row(w, c.first);
  } else if (c.is_vector()) {
    operands.c = row(w, c.first);
  } else {
    operands.c_constant = constant_c(in, w, c);
  }
  operands.cbsz = in.cbsz;
  operands.abid = in.abid;
  operands.blgp = in.blgp;
  Row scale[2];
  if (in.sources > 4) {  // with scales
    operands.scale_a = source_rows(w, in.src(3), 1, &scale[0]);
    operands.scale_b = source_rows(w, in.src(4), 1, &scale[1]);
    operands.scale_byte_a = static_cast<u8>((in.op_sel & 1) | (in.op_sel_hi & 1) << 1);
    operands.scale_byte_b = static_cast<u8>((in.op_sel >> 1 & 1) | (in.op_sel_hi >> 1 & 1) << 1);
  }
  if (w.track && (any_undefined(w, in) || w.dirty.any({in.dst().first, in.dst().count}))) {
    spread_matrix(w, in, matrix);
  }
  matrix.run(operands);
}

}  // namespace

void register_matrix() {
  for (const Matrix& matrix : matrices()) {
    Opcode opcode = handler_op(matrix.mnemonic, &run_matrix, Unit::matrix);
    const bool is_double = matrix.a == Element::f64;
    const bool integer = matrix.a == Element::i8;
    opcode.type = is_double ? Type::f64 : integer ? Type::b32 : Type::f32;
    for (Type& type : opcode.src_type) type = opcode.type;
    if (is_double) opcode.flags |= in_f64;
    if (matrix.a == Element::f32) opcode.flags |= not_xdl;
    if (matrix.sparse) opcode.flags |= reads_dst;
    opcode.passes = matrix.passes;
    opcode.targets = matrix.targets;
    opcode.data = &matrix;
    register_opcode(opcode);
  }
}

}  // namespace instinct::INSTINCT_LEVEL
