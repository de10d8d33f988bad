#include "virtual/resolve.h"

#include <algorithm>
#include <bit>

#include "virtual/opcode.h"

namespace instinct {
namespace {

// The bits of a constant as its operand wants them ("CDNA3 ISA", "Literal constants": 32 bits,
// which are the high ones of an f64 and are sign-extended for signed 64-bit integers).
u64 constant_bits(const Operand& operand, Type type) {
  if (!operand.floating) {
    const i64 value = static_cast<i64>(operand.value);
    const bool literal = operand.literal || value > 64 || value < -16;
    if (type == Type::f64 && literal && value >> 32 == 0) return operand.value << 32;
    if (type == Type::i64 && literal && value >> 32 == 0) {
      return static_cast<u64>(i64{static_cast<i32>(operand.value)});
    }
    return operand.value;
  }
  const double value = std::bit_cast<double>(operand.value);
  const float narrow = static_cast<float>(value);
  u32 single = std::bit_cast<u32>(narrow);
  const bool inv_2pi = value > 0.15 && value < 0.16;
  if (inv_2pi) single = 0x3e22f983;
  switch (type) {
    case Type::f64:
    case Type::b64:
    case Type::i64: return inv_2pi ? 0x3fc45f306dc9c882 : std::bit_cast<u64>(value);
    case Type::f16:
    case Type::b16: {  // all of them are normal numbers with few bits
      if (inv_2pi) return 0x3118;
      if (narrow == 0) return single >> 16 & 0x8000;
      return (single >> 16 & 0x8000) | (((single >> 23 & 0xff) - 112) << 10) |
             (single >> 13 & 0x3ff);
    }
    case Type::bf16: return single >> 16;
    default: return single;
  }
}

void add_span(Span (&spans)[6], u8& count, Span span) {
  if (count < 6) spans[count++] = span;
}

void add_scalars(u64 (&bits)[2], u32 first, u32 count) {
  for (u32 i = first; i < first + count && i < 128; ++i) bits[i >> 6] |= u64{1} << (i & 63);
}

void note_read(Instruction& in, const Operand& operand) {
  if (operand.is_vector()) add_span(in.read, in.reads, {operand.first, operand.count});
  if (operand.is_scalar()) add_scalars(in.scalar_read, operand.first, operand.count);
}

void note_write(Instruction& in, const Operand& operand) {
  if (operand.is_vector() && in.writes < 3) in.write[in.writes++] = {operand.first, operand.count};
  if (operand.is_scalar()) add_scalars(in.scalar_write, operand.first, operand.count);
}

bool keeps_destination(const Instruction& in) {
  if (in.opcode->flags & (reads_dst | keeps_high)) return true;
  if (in.sdwa.used && in.sdwa.dst != 6 && in.sdwa.unused == 2) return true;
  return in.dpp.used && (!in.dpp.bound_ctrl || in.dpp.row_mask != 0xf || in.dpp.bank_mask != 0xf);
}

}  // namespace

void apply_opcode(Instruction& in) {
  const Opcode& opcode = *in.opcode;
  in.handler = opcode.handler;
  in.kernel = opcode.kernel;
  in.destinations = opcode.destinations;
  const bool atomic = opcode.flags & is_atomic;
  if (in.lds && opcode.unit == Unit::vector_memory) in.destinations = 0;
  if (atomic && opcode.destinations == 0 && in.sc0 && opcode.name[0] != 'b') in.destinations = 1;
  in.destinations = std::min(in.destinations, in.operand_count);
  in.sources = static_cast<u8>(in.operand_count - in.destinations);
  for (int i = 0; i < in.sources; ++i) {
    Operand& source = in.operand[in.destinations + i];
    if (source.kind == Operand::Kind::constant) {
      source.value = constant_bits(source, opcode.src_type[std::min(i, 3)]);
    }
    note_read(in, source);
    in.plain &= !source.negate && !source.absolute && !source.sign_extend;
  }
  for (int i = 0; i < in.destinations; ++i) {
    note_write(in, in.operand[i]);
    if (keeps_destination(in)) note_read(in, in.operand[i]);
  }
  if (atomic && opcode.name[0] == 'b' && in.sc0) note_write(in, in.operand[0]);
  if (opcode.flags & reads_vcc) add_scalars(in.scalar_read, vcc_register, 2);
  if (opcode.flags & writes_vcc) add_scalars(in.scalar_write, vcc_register, 2);
  if (opcode.flags & writes_exec) add_scalars(in.scalar_write, exec_register, 2);
  if (in.lds || opcode.flags & writes_lds) add_scalars(in.scalar_read, m0_register, 1);
  // Formats of at most six bits take half the passes (LLVM, getF8F6F4 scheduling classes).
  const bool narrow = in.cbsz > 1 && in.blgp > 1 && opcode.name.ends_with("f8f6f4");
  in.passes = narrow ? opcode.passes / 2 : opcode.passes;
  // Not printed: packed instructions use both halves, others none (mixed precision: f32).
  if (in.op_sel_hi == op_sel_not_printed)
    in.op_sel_hi = opcode.flags & is_packed && !opcode.mixed ? 0xf : 0;
  const bool halves = opcode.flags & keeps_high || (in.op_sel && !(opcode.flags & is_packed));
  in.plain &= !halves && !in.clamp && !in.omod && !in.dpp.used && !in.sdwa.used;
}

}  // namespace instinct
