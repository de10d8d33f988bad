// Branches, calls, barriers, waits, clocks ("CDNA3 ISA": SOPP, SOP1 program counter instructions).
#include "virtual/handlers/define.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

const Instruction* instruction_at(const Wave& w, const Instruction& in, u64 address) {
  const Instruction* target = w.group->state.program.at(address);
  if (!target) {
    w.group->fail(w, in, Fault::bad_program_counter, -1, "the target is not in the code object");
  }
  return target;
}

void jump(Wave& w, const Instruction& in) {
  if (in.target < 0) {
    w.group->fail(w, in, Fault::bad_program_counter, -1, "the target is not in the code object");
  }
  w.next = &w.group->state.program.instructions()[static_cast<size_t>(in.target)];
}

void run_branch(Wave& w, const Instruction& in) { jump(w, in); }

template <bool wanted>
void run_branch_scc(Wave& w, const Instruction& in) {
  if (w.track && w.scc_undefined) use_scalar(w, in, scc_register, 1, "a branch");
  if (w.scc == wanted) jump(w, in);
}

template <bool zero>
void run_branch_vcc(Wave& w, const Instruction& in) {
  if (w.track && ((w.scalar_dirty[1] >> (vcc_register - 64)) & 3)) {
    const u64 undefined =
        w.scalar_undefined[vcc_register] | u64{w.scalar_undefined[vcc_register + 1]} << 32;
    // A known bit that is set decides.
    if ((w.scalar64(vcc_register) & ~undefined) == 0)
      use_scalar(w, in, vcc_register, undefined, "a branch");
  }
  if ((w.scalar64(vcc_register) == 0) == zero) jump(w, in);
}

template <bool zero>
void run_branch_exec(Wave& w, const Instruction& in) {
  if ((w.exec() == 0) == zero) jump(w, in);
}

void run_branch_debug(Wave&, const Instruction&) {}  // no debugger: never taken

u64 next_address(const Instruction& in) { return in.address + in.size; }

void write_address(Wave& w, const Operand& dst, u64 address) {
  write_scalar64(w, dst, address);
  if (w.track) set_undefined_scalar64(w, dst, 0);
}

void run_getpc(Wave& w, const Instruction& in) { write_address(w, in.dst(), next_address(in)); }

u64 read_target(Wave& w, const Instruction& in, const Operand& source) {
  if (w.track) {
    const u64 undefined = undefined_scalar64(w, source);
    if (undefined) use_scalar(w, in, source.first, undefined, "the program counter");
  }
  return read_scalar64(w, source);
}

void run_setpc(Wave& w, const Instruction& in) {
  w.next = instruction_at(w, in, read_target(w, in, in.operand[0]));
}

void run_swappc(Wave& w, const Instruction& in) {
  const u64 target = read_target(w, in, in.src(0));
  write_address(w, in.dst(), next_address(in));
  w.next = instruction_at(w, in, target);
}

void run_call(Wave& w, const Instruction& in) {
  write_address(w, in.operand[0], next_address(in));
  jump(w, in);
}

void run_endpgm(Wave& w, const Instruction& in) { w.group->end_wave(w, in); }
void run_barrier(Wave& w, const Instruction& in) { w.group->arrive(w, in); }
void run_waitcnt(Wave& w, const Instruction& in) { wait_for(w, in.waits); }
void run_nothing(Wave&, const Instruction&) {}
void run_nop(Wave& w, const Instruction& in) { w.clock += in.operand[0].value & 0xf; }

void run_trap(Wave& w, const Instruction& in) {
  w.group->fail(w, in, Fault::unsupported, -1, "trap: the kernel called abort or hit an assertion");
}

// Cycles, roughly: an instruction counts as four.
void run_memtime(Wave& w, const Instruction& in) { write_address(w, in.dst(), 4 * w.executed + 1); }

void run_memrealtime(Wave& w, const Instruction& in) {
  write_address(w, in.dst(), w.executed / 5 + 1);  // 100 MHz, where cycles are about 2 GHz
}

// Caches: everything is coherent here.
void run_cache_control(Wave& w, const Instruction& in) {
  push_vm(w, {.kind = InFlight::Kind::store, .instruction = &in});
}

// Waves whose loads are to be seen may want to run.
void run_sleep(Wave& w, const Instruction&) { w.yields = true; }

}  // namespace

void register_control() {
  const auto add = [](std::string_view name, Handler handler, Unit unit, u8 destinations = 0,
                      u16 flags = 0, Type type = Type::b32) {
    register_opcode(handler_op(name, handler, unit, destinations, flags, type));
  };
  add("s_branch", &run_branch, Unit::branch);
  add("s_cbranch_scc0", &run_branch_scc<false>, Unit::branch, 0, reads_scc);
  add("s_cbranch_scc1", &run_branch_scc<true>, Unit::branch, 0, reads_scc);
  add("s_cbranch_vccz", &run_branch_vcc<true>, Unit::branch, 0, reads_vcc);
  add("s_cbranch_vccnz", &run_branch_vcc<false>, Unit::branch, 0, reads_vcc);
  add("s_cbranch_execz", &run_branch_exec<true>, Unit::branch);
  add("s_cbranch_execnz", &run_branch_exec<false>, Unit::branch);
  for (const char* name : {"s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
                           "s_cbranch_cdbgsys_and_user"}) {
    add(name, &run_branch_debug, Unit::branch);
  }
  add("s_getpc_b64", &run_getpc, Unit::salu, 1);
  add("s_setpc_b64", &run_setpc, Unit::branch);
  add("s_swappc_b64", &run_swappc, Unit::branch, 1);
  add("s_call_b64", &run_call, Unit::branch, 1);
  add("s_endpgm", &run_endpgm, Unit::other);
  add("s_endpgm_saved", &run_endpgm, Unit::other);
  add("s_barrier", &run_barrier, Unit::other);
  add("s_waitcnt", &run_waitcnt, Unit::other);
  add("s_nop", &run_nop, Unit::other);
  add("v_nop", &run_nothing, Unit::valu);
  add("s_sleep", &run_sleep, Unit::other);
  for (const char* name :
       {"s_setprio", "s_icache_inv", "s_incperflevel", "s_decperflevel", "s_ttracedata",
        "s_sendmsg", "s_sendmsghalt", "s_sethalt", "s_wakeup", "s_setkill", "s_dcache_inv",
        "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol"}) {
    add(name, &run_nothing, Unit::other);
  }
  add("s_trap", &run_trap, Unit::other);
  add("s_memtime", &run_memtime, Unit::scalar_memory, 1);
  add("s_memrealtime", &run_memrealtime, Unit::scalar_memory, 1);
  for (const char* name : {"buffer_wbl2", "buffer_inv"}) {
    add(name, &run_cache_control, Unit::vector_memory);
  }
}

}  // namespace instinct::INSTINCT_LEVEL
