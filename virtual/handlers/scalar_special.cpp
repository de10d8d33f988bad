// Scalar instructions that read their destination, change EXEC or the MODE register ("CDNA3 ISA":
// SOP1 saveexec, SOPK, S_SETREG, S_GETREG).
#include "virtual/handlers/define.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

void set_all_undefined(Wave& w, const Instruction& in, bool undefined) {
  if (!w.track) return;
  if (in.dst().count == 2)
    set_undefined_scalar64(w, in.dst(), undefined ? ~u64{0} : 0);
  else
    set_undefined_scalar(w, in.dst(), undefined ? ~0u : 0);
}

// D = EXEC; EXEC = f(source, EXEC); SCC = EXEC != 0.
enum class Save { bit_and, bit_or, bit_xor, andn1, andn2, orn1, orn2, nand, nor, xnor };

template <Save save>
void run_saveexec(Wave& w, const Instruction& in) {
  const u64 s = read_scalar64(w, in.src(0)), exec = w.exec();
  u64 r = 0;
  switch (save) {
    case Save::bit_and: r = s & exec; break;
    case Save::bit_or: r = s | exec; break;
    case Save::bit_xor: r = s ^ exec; break;
    case Save::andn1: r = ~s & exec; break;
    case Save::andn2: r = s & ~exec; break;
    case Save::orn1: r = ~s | exec; break;
    case Save::orn2: r = s | ~exec; break;
    case Save::nand: r = ~(s & exec); break;
    case Save::nor: r = ~(s | exec); break;
    case Save::xnor: r = ~(s ^ exec); break;
  }
  if (w.track) {
    // Lanes that are off stay off whatever the mask says, and the like.
    const bool by_and = save == Save::bit_and || save == Save::andn1 || save == Save::nand;
    const bool by_or = save == Save::bit_or || save == Save::orn1 || save == Save::nor;
    const u64 matters = by_and ? exec : by_or ? ~exec : ~u64{0};
    const u64 undefined = undefined_scalar64(w, in.src(0)) & matters;
    if (undefined) use_scalar(w, in, in.src(0).first, undefined, "EXEC");
    set_all_undefined(w, in, false);
    w.scc_undefined = false;
  }
  write_scalar64(w, in.dst(), exec);
  w.set_exec(r);
  w.scc = r != 0;
}

// EXEC = f(source, EXEC), and D is the new one.
template <bool negate_source>
void run_wrexec(Wave& w, const Instruction& in) {
  const u64 s = read_scalar64(w, in.src(0)), exec = w.exec();
  const u64 r = negate_source ? ~s & exec : s & ~exec;
  if (w.track) {
    const u64 undefined = undefined_scalar64(w, in.src(0)) & (negate_source ? exec : ~exec);
    if (undefined) use_scalar(w, in, in.src(0).first, undefined, "EXEC");
    set_all_undefined(w, in, false);
    w.scc_undefined = false;
  }
  w.set_exec(r);
  write_scalar64(w, in.dst(), r);
  w.scc = r != 0;
}

template <class T>
void run_cmov(Wave& w, const Instruction& in) {
  if (w.track && w.scc_undefined) use_scalar(w, in, scc_register, 1, "a conditional move");
  if (!w.scc) return;
  if constexpr (sizeof(T) == 8) {
    write_scalar64(w, in.dst(), read_scalar64(w, in.src(0)));
    if (w.track) set_undefined_scalar64(w, in.dst(), undefined_scalar64(w, in.src(0)));
  } else {
    write_scalar(w, in.dst(), read_scalar(w, in.src(0)));
    if (w.track) set_undefined_scalar(w, in.dst(), undefined_scalar(w, in.src(0)));
  }
}

void run_cmovk(Wave& w, const Instruction& in) {
  if (w.track && w.scc_undefined) use_scalar(w, in, scc_register, 1, "a conditional move");
  if (!w.scc) return;
  write_scalar(w, in.dst(), static_cast<u32>(i32{static_cast<i16>(in.src(0).value)}));
  set_all_undefined(w, in, false);
}

// SOPK with the destination as first source.
template <bool multiply>
void run_addk(Wave& w, const Instruction& in) {
  const u32 a = read_scalar(w, in.dst());
  const u32 b = static_cast<u32>(i32{static_cast<i16>(in.src(0).value)});
  const u32 r = multiply ? a * b : a + b;
  const bool undefined = w.track && undefined_scalar(w, in.dst());
  if (!multiply) {
    w.scc = ~(a ^ b) & (a ^ r) & 1u << 31;
    w.scc_undefined = undefined;
  }
  write_scalar(w, in.dst(), r);
  set_all_undefined(w, in, undefined);
}

template <bool set, class T>
void run_bitset(Wave& w, const Instruction& in) {
  const u32 bit = read_scalar(w, in.src(0));
  if (w.track && undefined_scalar(w, in.src(0))) {
    set_all_undefined(w, in, true);
  } else if (w.track) {
    if constexpr (sizeof(T) == 8) {
      set_undefined_scalar64(w, in.dst(),
                             undefined_scalar64(w, in.dst()) & ~(u64{1} << (bit & 63)));
    } else {
      set_undefined_scalar(w, in.dst(), undefined_scalar(w, in.dst()) & ~(1u << (bit & 31)));
    }
  }
  if constexpr (sizeof(T) == 8) {
    const u64 mask = u64{1} << (bit & 63), old = read_scalar64(w, in.dst());
    write_scalar64(w, in.dst(), set ? old | mask : old & ~mask);
  } else {
    const u32 mask = 1u << (bit & 31), old = read_scalar(w, in.dst());
    write_scalar(w, in.dst(), set ? old | mask : old & ~mask);
  }
}

// "Whole quad mode": groups of four in which any bit is set.
void run_wqm(Wave& w, const Instruction& in) {
  const u64 s = read_scalar64(w, in.src(0));
  u64 r = 0;
  for (u32 i = 0; i < 64; i += 4) r |= s >> i & 0xf ? u64{0xf} << i : 0;
  if (w.track) set_all_undefined(w, in, any_undefined_scalar(w, in));
  write_scalar64(w, in.dst(), r);
  w.scc = r != 0;
  if (w.track) w.scc_undefined = any_undefined_scalar(w, in);
}

struct HardwareRegister {
  u32 id, offset, mask;
};

HardwareRegister decode(const Operand& operand) {
  const u32 bits = static_cast<u32>(operand.value);
  const u32 size = (bits >> 11 & 31) + 1;
  return {bits & 63, bits >> 6 & 31, size == 32 ? ~0u : (1u << size) - 1};
}

constexpr u32 mode_register = 1;

// Denormals that are flushed take the slow path; other roundings are not implemented.
void set_mode(Wave& w, const Instruction& in, u32 mode) {
  if (mode & 0xf) unsupported(w, in, "rounding other than to nearest even");
  w.mode = mode;
  w.slow = w.flush_f32() || w.flush_f16() || w.gpr_index;
}

void run_setreg(Wave& w, const Instruction& in) {
  const HardwareRegister r = decode(in.operand[0]);
  const u32 value = read_scalar(w, in.operand[1]);
  if (w.track && undefined_scalar(w, in.operand[1])) {
    use_scalar(w, in, in.operand[1].first, ~0u, "a hardware register");
  }
  if (r.id != mode_register) return;  // nothing else changes results here
  set_mode(w, in, (w.mode & ~(r.mask << r.offset)) | (value & r.mask) << r.offset);
}

u32 hardware_register(const Wave& w, u32 id) {
  switch (id) {
    case mode_register: return w.mode;
    case 4: return w.index;  // HW_ID: the wave; everything else is 0
    case 6: return (w.group->state.lds_bytes / 512) << 12;
    default: return 0;
  }
}

void run_getreg(Wave& w, const Instruction& in) {
  const HardwareRegister r = decode(in.src(0));
  write_scalar(w, in.dst(), hardware_register(w, r.id) >> r.offset & r.mask);
  set_all_undefined(w, in, false);
}

// Relative registers: M0 is added to the number.
template <bool source, class T>
void run_movrel(Wave& w, const Instruction& in) {
  Operand from = in.src(0), to = in.dst();
  if (w.track && w.scalar_undefined[m0_register])
    use_scalar(w, in, m0_register, ~0u, "a register number");
  Operand& moved = source ? from : to;
  const u32 first = moved.first + w.scalar[m0_register];
  if (!moved.is_scalar() || first + sizeof(T) / 4 > 102) {
    unsupported(w, in, "relative register beyond the last");
  }
  moved.first = static_cast<u16>(first);
  if constexpr (sizeof(T) == 8) {
    write_scalar64(w, to, read_scalar64(w, from));
    if (w.track) set_undefined_scalar64(w, to, undefined_scalar64(w, from));
  } else {
    write_scalar(w, to, read_scalar(w, from));
    if (w.track) set_undefined_scalar(w, to, undefined_scalar(w, from));
  }
}

// Indexed vector registers: M0[7:0] is the index, [15:12] which operands it is added to.
void run_gpr_index(Wave& w, const Instruction& in) {
  if (w.track && undefined_scalar(w, in.operand[0])) {
    use_scalar(w, in, in.operand[0].first, ~0u, "a register number");
  }
  const u32 index = read_scalar(w, in.operand[0]) & 0xff;
  const u32 mode = static_cast<u32>(in.operand[1].value) & 0xf;
  w.scalar[m0_register] = index | mode << 12;
  w.scalar_undefined[m0_register] = 0;
  w.scalar_dirty[m0_register >> 6] &= ~(u64{1} << (m0_register & 63));
  w.gpr_index = true;
  w.gpr_index_mode = mode;
  w.slow = true;
}

void run_gpr_index_off(Wave& w, const Instruction&) {
  w.gpr_index = false;
  w.slow = w.flush_f32() || w.flush_f16();
}

void run_gpr_index_idx(Wave& w, const Instruction& in) {
  w.scalar[m0_register] = (w.scalar[m0_register] & ~0xffu) | (read_scalar(w, in.operand[0]) & 0xff);
}

void run_gpr_index_mode(Wave& w, const Instruction& in) {
  w.gpr_index_mode = static_cast<u32>(in.operand[0].value) & 0xf;
  w.scalar[m0_register] = (w.scalar[m0_register] & ~0xf000u) | w.gpr_index_mode << 12;
}

}  // namespace

void register_scalar_special() {
  const auto add = [](std::string_view name, Handler handler, u8 destinations, u16 flags,
                      Type type = Type::b32) {
    register_opcode(handler_op(name, handler, Unit::salu, destinations, flags, type));
  };
  constexpr u16 saves = writes_scc | writes_exec;
  add("s_and_saveexec_b64", &run_saveexec<Save::bit_and>, 1, saves, Type::b64);
  add("s_or_saveexec_b64", &run_saveexec<Save::bit_or>, 1, saves, Type::b64);
  add("s_xor_saveexec_b64", &run_saveexec<Save::bit_xor>, 1, saves, Type::b64);
  add("s_andn1_saveexec_b64", &run_saveexec<Save::andn1>, 1, saves, Type::b64);
  add("s_andn2_saveexec_b64", &run_saveexec<Save::andn2>, 1, saves, Type::b64);
  add("s_orn1_saveexec_b64", &run_saveexec<Save::orn1>, 1, saves, Type::b64);
  add("s_orn2_saveexec_b64", &run_saveexec<Save::orn2>, 1, saves, Type::b64);
  add("s_nand_saveexec_b64", &run_saveexec<Save::nand>, 1, saves, Type::b64);
  add("s_nor_saveexec_b64", &run_saveexec<Save::nor>, 1, saves, Type::b64);
  add("s_xnor_saveexec_b64", &run_saveexec<Save::xnor>, 1, saves, Type::b64);
  add("s_andn1_wrexec_b64", &run_wrexec<true>, 1, saves, Type::b64);
  add("s_andn2_wrexec_b64", &run_wrexec<false>, 1, saves, Type::b64);
  add("s_cmov_b32", &run_cmov<u32>, 1, reads_scc | reads_dst);
  add("s_cmov_b64", &run_cmov<u64>, 1, reads_scc | reads_dst, Type::b64);
  add("s_cmovk_i32", &run_cmovk, 1, reads_scc | reads_dst);
  add("s_addk_i32", &run_addk<false>, 1, writes_scc | reads_dst);
  add("s_mulk_i32", &run_addk<true>, 1, reads_dst);
  add("s_bitset0_b32", &run_bitset<false, u32>, 1, reads_dst);
  add("s_bitset1_b32", &run_bitset<true, u32>, 1, reads_dst);
  add("s_bitset0_b64", &run_bitset<false, u64>, 1, reads_dst);
  add("s_bitset1_b64", &run_bitset<true, u64>, 1, reads_dst);
  add("s_wqm_b64", &run_wqm, 1, writes_scc, Type::b64);
  add("s_setreg_b32", &run_setreg, 0, 0);
  add("s_setreg_imm32_b32", &run_setreg, 0, 0);
  add("s_getreg_b32", &run_getreg, 1, 0);
  add("s_movrels_b32", &run_movrel<true, u32>, 1, 0);
  add("s_movrels_b64", &run_movrel<true, u64>, 1, 0, Type::b64);
  add("s_movreld_b32", &run_movrel<false, u32>, 1, 0);
  add("s_movreld_b64", &run_movrel<false, u64>, 1, 0, Type::b64);
  add("s_set_gpr_idx_on", &run_gpr_index, 0, 0);
  add("s_set_gpr_idx_off", &run_gpr_index_off, 0, 0);
  add("s_set_gpr_idx_idx", &run_gpr_index_idx, 0, 0);
  add("s_set_gpr_idx_mode", &run_gpr_index_mode, 0, 0);
}

}  // namespace instinct::INSTINCT_LEVEL
