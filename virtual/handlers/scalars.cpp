#include "virtual/handlers/lanes.h"

namespace instinct::INSTINCT_LEVEL {

namespace {

u32 special_scalar(const Wave& w, u32 first) {
  switch (first) {
    case vccz_register: return w.scalar64(vcc_register) == 0;
    case execz_register: return w.exec() == 0;
    case scc_register: return w.scc;
    default: return w.scalar[first];
  }
}

}  // namespace

u32 read_scalar(const Wave& w, const Operand& operand) {
  if (operand.kind == Operand::Kind::scalar) {
    return operand.first < 128 ? w.scalar[operand.first] : special_scalar(w, operand.first);
  }
  return static_cast<u32>(operand.value);
}

u64 read_scalar64(const Wave& w, const Operand& operand) {
  if (operand.kind == Operand::Kind::scalar) {
    return operand.first < 127 && operand.count > 1 ? w.scalar64(operand.first)
                                                    : read_scalar(w, operand);
  }
  return operand.value;
}

void write_scalar(Wave& w, const Operand& operand, u32 value) {
  if (operand.kind != Operand::Kind::scalar) return;  // null
  w.scalar[operand.first] = value;
  if (operand.first >= exec_register) w.set_exec(w.scalar64(exec_register));
}

void write_scalar64(Wave& w, const Operand& operand, u64 value) {
  if (operand.kind != Operand::Kind::scalar) return;
  w.scalar[operand.first] = static_cast<u32>(value);
  w.scalar[operand.first + 1] = static_cast<u32>(value >> 32);
  if (operand.first == exec_register) w.exec_mask = value;
}

u32 undefined_scalar(const Wave& w, const Operand& operand) {
  if (operand.kind != Operand::Kind::scalar) return 0;
  if (operand.first < 128) return w.scalar_undefined[operand.first];
  return operand.first == scc_register && w.scc_undefined;
}

u64 undefined_scalar64(const Wave& w, const Operand& operand) {
  if (operand.kind != Operand::Kind::scalar || operand.first > 126) {
    return undefined_scalar(w, operand);
  }
  if (operand.count == 1) return w.scalar_undefined[operand.first];
  return w.scalar_undefined[operand.first] | u64{w.scalar_undefined[operand.first + 1]} << 32;
}

void set_undefined_scalar(Wave& w, const Operand& operand, u32 bits) {
  if (operand.kind != Operand::Kind::scalar || operand.first >= 128) return;
  const u32 first = operand.first;
  w.scalar_undefined[first] = bits;
  const u64 bit = u64{1} << (first & 63);
  if (bits)
    w.scalar_dirty[first >> 6] |= bit;
  else
    w.scalar_dirty[first >> 6] &= ~bit;
}

void set_undefined_scalar64(Wave& w, const Operand& operand, u64 bits) {
  Operand half = operand;
  set_undefined_scalar(w, half, static_cast<u32>(bits));
  ++half.first;
  set_undefined_scalar(w, half, static_cast<u32>(bits >> 32));
}

bool any_undefined_scalar(const Wave& w, const Instruction& in) {
  return ((w.scalar_dirty[0] & in.scalar_read[0]) | (w.scalar_dirty[1] & in.scalar_read[1])) != 0;
}

}  // namespace instinct::INSTINCT_LEVEL
