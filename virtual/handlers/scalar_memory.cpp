// Scalar loads ("CDNA3 ISA", "Scalar memory operations").
#include <cstring>

#include "virtual/handlers/define.h"
#include "virtual/handlers/memory.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

void load_scalars(Wave& w, const Instruction& in, u64 address, u32 words) {
  Workgroup& group = *w.group;
  address &= ~u64{3};
  const Allocation* allocation = group.find(address, 4 * words);
  if (!allocation && group.state.checks.bounds) {
    group.fail_bounds(w, in, ~0u, address, 4 * words, false);
  }
  const u32 first = in.dst().first;
  u32 value[16], undefined[16] = {};
  std::memcpy(value, reinterpret_cast<const void*>(address), 4 * words);
  if (w.track && allocation && allocation->defined) {
    std::memcpy(undefined, allocation->defined + (address - allocation->base), 4 * words);
    for (u32 i = 0; i < words; ++i) undefined[i] = ~undefined[i];
  }
  Operand to = in.dst();
  for (u32 i = 0; i < words; ++i, ++to.first) {
    write_scalar(w, to, value[i]);
    if (w.track) set_undefined_scalar(w, to, undefined[i]);
  }
  InFlight entry{.kind = InFlight::Kind::scalar_load, .instruction = &in};
  for (u32 i = first; i < first + words && i < 128; ++i)
    entry.scalars[i >> 6] |= u64{1} << (i & 63);
  push_lgkm(w, entry);
}

u64 scalar_offset(Wave& w, const Instruction& in, u32 operand) {
  u64 offset = static_cast<u64>(i64{in.offset});
  if (operand >= in.operand_count) return offset;
  const Operand& o = in.operand[operand];
  if (o.is_scalar()) use_address(w, in, o, 1);
  if (o.kind == Operand::Kind::off) return offset;
  // An immediate is signed, a register is not.
  return offset + (o.is_scalar() ? u64{w.scalar[o.first]} : o.value);
}

template <u32 word_count>
void run_load(Wave& w, const Instruction& in) {
  use_address(w, in, in.src(0), 2);
  load_scalars(w, in, w.scalar64(in.src(0).first) + scalar_offset(w, in, 2), word_count);
}

// Through a descriptor: what lies outside is 0.
template <u32 word_count>
void run_buffer_load(Wave& w, const Instruction& in) {
  use_address(w, in, in.src(0), 4);
  const u32* word = w.scalar + in.src(0).first;
  const u64 base = word[0] | u64{word[1] & 0xffff} << 32;
  const u32 stride = word[1] >> 16 & 0x3fff;
  const u64 size = u64{word[2]} * (stride ? stride : 1);
  const u64 offset = scalar_offset(w, in, 2) & ~u64{3};
  if (offset + 4 * word_count <= size) return load_scalars(w, in, base + offset, word_count);
  Operand to = in.dst();
  for (u32 i = 0; i < word_count; ++i, ++to.first) {
    u32 value = 0;
    if (offset + 4 * i + 4 <= size) {
      if (!w.group->find(base + offset + 4 * i, 4)) {
        w.group->fail_bounds(w, in, ~0u, base + offset + 4 * i, 4, false);
      }
      std::memcpy(&value, reinterpret_cast<const void*>(base + offset + 4 * i), 4);
    }
    write_scalar(w, to, value);
    if (w.track) set_undefined_scalar(w, to, 0);
  }
}

}  // namespace

void register_scalar_memory() {
  const auto add = [](std::string_view name, Handler handler) {
    register_opcode(handler_op(name, handler, Unit::scalar_memory));
  };
  add("s_load_dword", &run_load<1>);
  add("s_load_dwordx2", &run_load<2>);
  add("s_load_dwordx4", &run_load<4>);
  add("s_load_dwordx8", &run_load<8>);
  add("s_load_dwordx16", &run_load<16>);
  add("s_buffer_load_dword", &run_buffer_load<1>);
  add("s_buffer_load_dwordx2", &run_buffer_load<2>);
  add("s_buffer_load_dwordx4", &run_buffer_load<4>);
  add("s_buffer_load_dwordx8", &run_buffer_load<8>);
  add("s_buffer_load_dwordx16", &run_buffer_load<16>);
}

}  // namespace instinct::INSTINCT_LEVEL
