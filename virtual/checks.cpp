#include "virtual/checks.h"

#include <bit>
#include <string>

#include "virtual/opcode.h"
#include "virtual/workgroup.h"

namespace instinct {

std::string register_name(u32 vector) {
  return vector < first_accumulator ? "v" + std::to_string(vector)
                                    : "a" + std::to_string(vector - first_accumulator);
}

std::string scalar_name(u32 scalar) {
  switch (scalar) {
    case vcc_register: return "vcc_lo";
    case vcc_register + 1: return "vcc_hi";
    case m0_register: return "m0";
    case exec_register: return "exec_lo";
    case exec_register + 1: return "exec_hi";
    case scc_register: return "scc";
    default: return "s" + std::to_string(scalar);
  }
}

void stop_at_unknown(Wave& wave, const Instruction& in) {
  const std::string mnemonic(wave.group->state.program.mnemonic(in));
  wave.group->fail(wave, in, Fault::unknown_instruction, -1, mnemonic + " is not implemented");
}

void use_scalar(Wave& wave, const Instruction& in, u32 first, u64 bits, const char* as) {
  const bool high = first < 128 && static_cast<u32>(bits) == 0;
  const std::string name = scalar_name(first + (high ? 1 : 0));
  // Bits of a mask are lanes.
  const bool mask = std::string_view(as) == "EXEC";
  const int lane = mask ? std::countr_zero(bits) : -1;
  wave.group->fail(wave, in, Fault::undefined_value, lane,
                   name + " decides " + as + ", but nothing defined wrote it");
}

void use_vector(Wave& wave, const Instruction& in, u32 index, u64 lanes, const char* as) {
  wave.group->fail(wave, in, Fault::undefined_value, std::countr_zero(lanes),
                   register_name(index) + " becomes " + as + ", but nothing defined wrote it");
}

// Loads under way.

namespace {

bool overlap(const InFlight& entry, const Span* spans, u32 count, u32& index) {
  for (u32 i = 0; i < count; ++i) {
    const u32 first = std::max(entry.vectors.first, spans[i].first);
    const u32 last =
        std::min(entry.vectors.first + entry.vectors.count, spans[i].first + spans[i].count);
    if (first < last) return index = first, true;
  }
  return false;
}

[[noreturn]] void fail_pending(Wave& wave, const Instruction& in, const std::string& name,
                               const Instruction& load, bool vm) {
  wave.group->fail(
      wave, in, Fault::not_waited_for, -1,
      name + " is used while a load to it is under way: " + wave.group->state.program.text(load) +
          " needs an s_waitcnt " + (vm ? "vmcnt" : "lgkmcnt"));
}

template <int capacity>
void find_pending(Wave& wave, const Instruction& in, const Queue<capacity>& queue, bool vm) {
  for (u32 i = 0; i < queue.size(); ++i) {
    const InFlight& entry = queue[i];
    u32 index = 0;
    if (overlap(entry, in.read, in.reads, index) || overlap(entry, in.write, in.writes, index)) {
      fail_pending(wave, in, register_name(index), *entry.instruction, vm);
    }
    for (u32 k = 0; k < 2; ++k) {
      const u64 used = entry.scalars[k] & (in.scalar_read[k] | in.scalar_write[k]);
      if (used) {
        fail_pending(wave, in, scalar_name(64 * k + static_cast<u32>(std::countr_zero(used))),
                     *entry.instruction, vm);
      }
    }
  }
}

bool touches_pending(const Wave& wave, const Instruction& in) {
  for (u32 i = 0; i < in.reads; ++i) {
    if (wave.pending.any(in.read[i])) return true;
  }
  for (u32 i = 0; i < in.writes; ++i) {
    if (wave.pending.any(in.write[i])) return true;
  }
  u64 scalars = 0;
  for (u32 k = 0; k < 2; ++k) {
    scalars |= wave.scalar_pending[k] & (in.scalar_read[k] | in.scalar_write[k]);
  }
  return scalars != 0;
}

}  // namespace

void check_pending(Wave& wave, const Instruction& in) {
  if (!touches_pending(wave, in)) return;
  // Loads of one counter land in order, so that a later one may write the same register.
  const bool load = in.opcode && in.opcode->unit == Unit::vector_memory && in.writes;
  if (load && in.write[0].count) {
    Instruction reads_only = in;
    reads_only.writes = 0;
    find_pending(wave, reads_only, wave.vm, true);
    find_pending(wave, in, wave.lgkm, false);
    return;
  }
  find_pending(wave, in, wave.vm, true);
  find_pending(wave, in, wave.lgkm, false);
}

namespace {

void mark(Wave& wave, const InFlight& entry) {
  wave.pending.set(entry.vectors);
  wave.scalar_pending[0] |= entry.scalars[0];
  wave.scalar_pending[1] |= entry.scalars[1];
  if (entry.vectors.count || entry.scalars[0] || entry.scalars[1]) wave.any_pending = true;
}

void land(Wave& wave, const InFlight& entry) {
  Lds& lds = wave.group->lds;
  for (const u32 index : entry.lds_record) {
    if (index == ~0u) continue;
    const Lds::Record& record = lds.records[index];
    if (entry.kind == InFlight::Kind::lds_dma) {
      // Now it is as if the wave had written it.
      const u16 mine = static_cast<u16>(lds.epoch * 32 + wave.index);
      for (u64 lanes = record.exec; lanes; lanes &= lanes - 1) {
        const u32 at = record.address[std::countr_zero(lanes)];
        for (u32 i = 0; i < record.bytes; ++i) lds.writer[at + i] = mine;
      }
    }
    lds.free_records.push_back(index);
  }
}

// After something landed: what is still pending.
void recount(Wave& wave) {
  wave.pending = {};
  wave.scalar_pending[0] = wave.scalar_pending[1] = 0;
  wave.any_pending = false;
  for (u32 i = 0; i < wave.vm.size(); ++i) mark(wave, wave.vm[i]);
  for (u32 i = 0; i < wave.lgkm.size(); ++i) mark(wave, wave.lgkm[i]);
}

}  // namespace

void push_vm(Wave& wave, const InFlight& entry) {
  if (!wave.group->state.checks.waits) return;
  if (wave.vm.full()) {  // the hardware stalls
    land(wave, wave.vm[0]);
    wave.vm.pop();
    recount(wave);
  }
  wave.vm.push(entry);
  mark(wave, entry);
}

void push_lgkm(Wave& wave, const InFlight& entry) {
  const Checks& checks = wave.group->state.checks;
  if (!checks.waits && !checks.races) return;
  if (wave.lgkm.full()) {
    land(wave, wave.lgkm[0]);
    wave.lgkm.pop();
    recount(wave);
  }
  wave.lgkm.push(entry);
  if (checks.waits) mark(wave, entry);
}

void wait_for(Wave& wave, const Waits& waits) {
  bool landed = false;
  // Vector memory returns in order ("CDNA3 ISA", "Data dependency resolution").
  while (wave.vm.size() > waits.vm) {
    land(wave, wave.vm[0]);
    wave.vm.pop();
    landed = true;
  }
  if (waits.lgkm == 0) {
    landed |= wave.lgkm.size() != 0;
    while (wave.lgkm.size()) {
      land(wave, wave.lgkm[0]);
      wave.lgkm.pop();
    }
  } else if (wave.lgkm.size() > waits.lgkm) {
    // LDS returns in order among itself, scalar loads and FLAT whenever they like: so of those that
    // are done, all may be these.
    u32 done = wave.lgkm.size() - waits.lgkm, others = 0;
    for (u32 i = 0; i < wave.lgkm.size(); ++i) {
      others += wave.lgkm[i].kind != InFlight::Kind::lds;
    }
    done = done > others ? done - others : 0;
    Queue<64> rest;
    for (u32 i = 0; i < wave.lgkm.size(); ++i) {
      if (done && wave.lgkm[i].kind == InFlight::Kind::lds) {
        land(wave, wave.lgkm[i]);
        --done;
        landed = true;
      } else {
        rest.push(wave.lgkm[i]);
      }
    }
    wave.lgkm = rest;
  }
  if (landed) recount(wave);
}

void carry_lds_over_barrier(Wave& wave) {
  Lds& lds = wave.group->lds;
  const u16 mine = static_cast<u16>(lds.epoch * 32 + wave.index);
  for (u32 k = 0; k < wave.lgkm.size(); ++k) {
    const InFlight& entry = wave.lgkm[k];
    for (const u32 index : entry.lds_record) {
      if (index == ~0u) continue;
      const Lds::Record& record = lds.records[index];
      u16* records =
          entry.instruction->opcode->flags & is_store ? lds.writer.get() : lds.reader.get();
      for (u64 lanes = record.exec; lanes; lanes &= lanes - 1) {
        const u32 at = record.address[std::countr_zero(lanes)];
        for (u32 i = 0; i < record.bytes; ++i) records[at + i] = mine;
      }
    }
  }
}

}  // namespace instinct
