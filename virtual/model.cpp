#include "virtual/model.h"

#include <algorithm>
#include <deque>

#include "virtual/opcode.h"

namespace instinct {
namespace {

// Time is counted in cycles; a SIMD issues every fourth, as its 16 lanes take four for a wave.
// "CDNA3 ISA", "Wave scheduling": in each slot one instruction of each class, from different waves.
constexpr u64 slot_cycles = 4;
constexpr u32 simd_count = 4;

// Of the order of what microbenchmarks of MI200 and MI300X find; none is exact.
constexpr u64 memory_latency = 600;  // L2 and HBM, mixed
constexpr u64 scalar_latency = 200;  // scalar cache
constexpr u64 lds_latency = 64;
constexpr u64 jump = 16;  // a taken branch refetches
constexpr u64 scalar_result = 4;

// Slots that a vector instruction keeps its unit ("CDNA3 ISA", rates; CDNA.md: transcendentals at a
// quarter of the rate). 32-bit multiplication too.
u64 vector_slots(const Opcode& opcode) {
  if (opcode.unit == Unit::transcendental) return 4;
  const std::string_view name = opcode.name;
  const bool multiply = name.starts_with("v_mul_lo_u32") || name.starts_with("v_mul_hi") ||
                        name.starts_with("v_mad_u64") || name.starts_with("v_mad_i64");
  return multiply ? 4 : 1;
}

enum class Wait : u8 { none, memory, lds, barrier, result, unit, done };

struct Blocked {
  Wait why = Wait::none;
  u64 until = 0;
};

// Accesses under way: when each is back.
struct Counter {
  std::deque<u64> back;
  bool unordered = false;  // scalar loads among them

  void push(u64 time) {
    back.push_back(unordered || back.empty() ? time : std::max(time, back.back()));
  }
  void settle(u64 now) {
    while (!back.empty() && back.front() <= now) back.pop_front();
    if (back.empty()) unordered = false;
  }
  // When at most `count` are left.
  u64 when(u32 count) const {
    if (back.size() <= count) return 0;
    if (unordered) return *std::max_element(back.begin(), back.end());
    return back[back.size() - count - 1];
  }
};

struct ModelWave {
  const std::vector<TraceEntry>* trace = nullptr;
  size_t at = 0;
  u32 workgroup = 0;
  u32 simd = 0;
  u32 priority = 0;
  u64 ready = 0;  // when it may issue again
  bool jumping = false;
  bool at_barrier = false;
  int inside = 0;  // of the loop: 0 not yet, 1 now, 2 no more
  Counter vm, lgkm;
  std::vector<u64> vector_ready = std::vector<u64>(vector_count + 256);
  u64 scalar_ready[128] = {};

  bool ended() const { return at >= trace->size(); }
};

struct Simd {
  u64 valu_free = 0;
  u64 matrix_free = 0;
  std::vector<u32> waves;
};

class Model {
 public:
  Model(const Program& program, const std::vector<Trace>& traces, LoopRange loop)
      : program_(program), loop_(loop) {
    for (u32 g = 0; g < traces.size(); ++g) {
      for (const auto& trace : traces[g]) {
        ModelWave wave;
        wave.trace = &trace;
        wave.workgroup = g;
        wave.simd = static_cast<u32>(waves_.size()) % simd_count;
        simds_[wave.simd].waves.push_back(static_cast<u32>(waves_.size()));
        waves_.push_back(std::move(wave));
      }
      arrived_.push_back(0);
    }
  }

  ModelResult run() {
    u64 left = waves_.size();
    while (left) {
      u64 next = ~u64{0};
      bool issued = false;
      for (Simd& simd : simds_) issued |= slot(simd, next);
      left = 0;
      for (const ModelWave& wave : waves_) left += !wave.ended();
      if (!left) break;
      release_barriers();
      const u64 step = issued || next == ~u64{0}
                           ? slot_cycles
                           : (next - now_ + slot_cycles - 1) / slot_cycles * slot_cycles;
      advance(std::max(step, slot_cycles), issued);
    }
    result_.whole.total = now_;
    finish(result_.whole);
    finish(result_.loop);
    return result_;
  }

 private:
  struct Votes {
    u32 of[7] = {};
  };

  // One issue slot of a SIMD. Returns whether anything was issued, and lowers `next` to when a wave
  // that could not might.
  bool slot(Simd& simd, u64& next) {
    u32 taken = 0;  // classes
    bool issued = false;
    Votes votes;
    std::stable_sort(simd.waves.begin(), simd.waves.end(),
                     [&](u32 a, u32 b) { return waves_[a].priority > waves_[b].priority; });
    for (const u32 index : simd.waves) {
      ModelWave& wave = waves_[index];
      if (wave.ended()) {
        ++votes.of[static_cast<int>(Wait::barrier)];
        continue;
      }
      const Instruction& in = instruction(wave);
      const Blocked blocked = look(simd, wave, in);
      const u32 unit = 1u << class_of(in.opcode->unit);
      if (blocked.why == Wait::none && !(taken & unit)) {
        issue(simd, wave, in);
        if (in.opcode->unit != Unit::other) taken |= unit;
        issued = true;
        continue;
      }
      ++votes.of[static_cast<int>(blocked.why == Wait::none ? Wait::unit : blocked.why)];
      if (blocked.until > now_) next = std::min(next, blocked.until);
    }
    simd_votes_[&simd - simds_] = issued ? Votes{} : votes;
    simd_issued_[&simd - simds_] = issued;
    return issued;
  }

  const Instruction& instruction(const ModelWave& wave) const {
    return program_.instructions()[(*wave.trace)[wave.at].index];
  }

  // Matrix and transcendental instructions go through the vector class.
  static u32 class_of(Unit unit) {
    if (unit == Unit::transcendental || unit == Unit::matrix) unit = Unit::valu;
    return static_cast<u32>(unit);
  }

  Blocked look(const Simd& simd, ModelWave& wave, const Instruction& in) {
    if (wave.at_barrier) return {Wait::barrier, 0};
    if (wave.ready > now_) return {Wait::result, wave.ready};
    wave.vm.settle(now_);
    wave.lgkm.settle(now_);
    if (in.opcode->name == "s_waitcnt") {
      const u64 vm = wave.vm.when(in.waits.vm), lgkm = wave.lgkm.when(in.waits.lgkm);
      if (vm > now_ && vm >= lgkm) return {Wait::memory, vm};
      if (lgkm > now_) return {Wait::lds, lgkm};
    }
    if (const u64 until = results_ready(wave, in); until > now_) return {Wait::result, until};
    return unit_free(simd, in);
  }

  u64 results_ready(const ModelWave& wave, const Instruction& in) const {
    u64 until = 0;
    for (u32 i = 0; i < in.reads; ++i) {
      for (u32 k = 0; k < in.read[i].count; ++k) {
        until = std::max(until, wave.vector_ready[in.read[i].first + k]);
      }
    }
    for (u32 k = 0; k < 2; ++k) {
      for (u64 bits = in.scalar_read[k]; bits; bits &= bits - 1) {
        until =
            std::max(until, wave.scalar_ready[64 * k + static_cast<u32>(__builtin_ctzll(bits))]);
      }
    }
    return until;
  }

  Blocked unit_free(const Simd& simd, const Instruction& in) const {
    u64 free = 0;
    switch (in.opcode->unit) {
      case Unit::valu:
      case Unit::transcendental: free = simd.valu_free; break;
      case Unit::matrix: free = std::max(simd.valu_free, simd.matrix_free); break;
      // Queues are short.
      case Unit::lds: free = lds_free_ > queue ? lds_free_ - queue : 0; break;
      case Unit::vector_memory: free = memory_free_ > queue ? memory_free_ - queue : 0; break;
      default: break;
    }
    return free > now_ ? Blocked{Wait::unit, free} : Blocked{};
  }

  void issue(Simd& simd, ModelWave& wave, const Instruction& in) {
    const TraceEntry& entry = (*wave.trace)[wave.at];
    const bool last = ++wave.at >= wave.trace->size();
    wave.ready = now_ + slot_cycles;
    execute(simd, wave, in, entry.cost);
    track_loop(wave, in, last);
    if (!last && (*wave.trace)[wave.at].index != entry.index + 1) wave.ready = now_ + jump;
  }

  void execute(Simd& simd, ModelWave& wave, const Instruction& in, u32 cost) {
    const Opcode& opcode = *in.opcode;
    switch (opcode.unit) {
      case Unit::valu:
      case Unit::transcendental: {
        const u64 slots = vector_slots(opcode);
        simd.valu_free = now_ + slot_cycles * slots;
        busy(opcode.unit, slot_cycles * slots);
        set_ready(wave, in, now_ + slot_cycles * slots);
        break;
      }
      case Unit::matrix: {
        // The unit takes one every `passes`; the sum is there to be added to after as many.
        const u64 cycles = slot_cycles * in.passes;
        simd.valu_free = now_ + slot_cycles;
        simd.matrix_free = now_ + cycles;
        busy(Unit::matrix, cycles);
        set_ready(wave, in, now_ + cycles);
        break;
      }
      case Unit::lds: {
        const u64 cycles = std::max(cost, 1u);
        lds_free_ = std::max(lds_free_, now_) + cycles;
        busy(Unit::lds, cycles * simd_count);
        wave.lgkm.push(lds_free_ + lds_latency);
        break;
      }
      case Unit::vector_memory: {
        const u64 cycles = std::max(cost, 4u);
        memory_free_ = std::max(memory_free_, now_) + cycles;
        busy(Unit::vector_memory, cycles * simd_count);
        wave.vm.push(memory_free_ + memory_latency);
        if (opcode.name.starts_with("flat")) wave.lgkm.push(memory_free_ + memory_latency);
        break;
      }
      case Unit::scalar_memory:
        wave.lgkm.unordered = true;
        wave.lgkm.push(now_ + scalar_latency);
        busy(Unit::scalar_memory, slot_cycles);
        break;
      case Unit::salu:
      case Unit::branch:
        busy(opcode.unit, slot_cycles);
        set_ready(wave, in, now_ + scalar_result);
        break;
      case Unit::other: execute_other(wave, in); break;
    }
  }

  void execute_other(ModelWave& wave, const Instruction& in) {
    const std::string_view name = in.opcode->name;
    if (name == "s_nop") wave.ready = now_ + slot_cycles * (1 + (in.operand[0].value & 0xf));
    if (name == "s_sleep") wave.ready = now_ + 64 * (in.operand[0].value & 0x7f);
    if (name == "s_setprio") wave.priority = static_cast<u32>(in.operand[0].value & 3);
    if (name != "s_barrier") return;
    wave.at_barrier = true;
    ++arrived_[wave.workgroup];
  }

  void set_ready(ModelWave& wave, const Instruction& in, u64 time) {
    for (u32 i = 0; i < in.writes; ++i) {
      for (u32 k = 0; k < in.write[i].count; ++k) wave.vector_ready[in.write[i].first + k] = time;
    }
    for (u32 k = 0; k < 2; ++k) {
      for (u64 bits = in.scalar_write[k]; bits; bits &= bits - 1) {
        wave.scalar_ready[64 * k + static_cast<u32>(__builtin_ctzll(bits))] = time;
      }
    }
  }

  void track_loop(ModelWave& wave, const Instruction& in, bool last) {
    if (loop_.empty() || wave.inside == 2) return;
    if (wave.inside == 0 && loop_.contains(in.index)) {
      wave.inside = 1;
      ++inside_;
    } else if (wave.inside == 1 && (last || left_loop(wave))) {
      wave.inside = 2;
      any_left_ = true;
    }
  }

  // Calls and outer loops come back: it has left if it never does.
  bool left_loop(ModelWave& wave) {
    if (loop_.contains((*wave.trace)[wave.at].index)) return false;
    return std::none_of(wave.trace->begin() + static_cast<long>(wave.at), wave.trace->end(),
                        [&](const TraceEntry& entry) { return loop_.contains(entry.index); });
  }

  void release_barriers() {
    for (u32 g = 0; g < arrived_.size(); ++g) {
      if (!arrived_[g]) continue;
      u32 running = 0;
      for (const ModelWave& wave : waves_) {
        running += wave.workgroup == g && !wave.ended() && !wave.at_barrier;
      }
      if (running) continue;
      for (ModelWave& wave : waves_) {
        if (wave.workgroup != g || !wave.at_barrier) continue;
        wave.at_barrier = false;
        wave.ready = std::max(wave.ready, now_ + slot_cycles);
      }
      arrived_[g] = 0;
    }
  }

  bool in_window() const { return inside_ == waves_.size() && !any_left_; }

  // Busy cycles are added up over the SIMDs; LDS and memory count for all of them.
  void busy(Unit unit, u64 cycles) {
    result_.whole.busy[static_cast<int>(unit)] += cycles;
    if (in_window()) result_.loop.busy[static_cast<int>(unit)] += cycles;
  }

  void advance(u64 step, bool any_issued) {
    if (any_issued) step = slot_cycles;
    for (u32 i = 0; i < simd_count; ++i) {
      if (simds_[i].waves.empty()) continue;
      account(result_.whole, i, step);
      if (in_window()) account(result_.loop, i, step);
    }
    if (in_window()) result_.loop.total += step;
    now_ += step;
  }

  void account(Cycles& cycles, u32 simd, u64 step) const {
    if (simd_issued_[simd]) {
      cycles.issuing += step;
      return;
    }
    const u32* of = simd_votes_[simd].of;
    const auto most = std::max_element(of, of + 7) - of;
    switch (static_cast<Wait>(most)) {
      case Wait::memory: cycles.waiting_memory += step; break;
      case Wait::lds: cycles.waiting_lds += step; break;
      case Wait::barrier: cycles.waiting_barrier += step; break;
      case Wait::unit: cycles.waiting_unit += step; break;
      default: cycles.waiting_result += step; break;
    }
  }

  // Means over the SIMDs that have waves.
  void finish(Cycles& cycles) const {
    u64 simds = 0;
    for (const Simd& simd : simds_) simds += !simd.waves.empty();
    simds = std::max<u64>(simds, 1);
    for (int i = 0; i < unit_count; ++i) {
      const bool shared =
          i == static_cast<int>(Unit::lds) || i == static_cast<int>(Unit::vector_memory);
      cycles.busy[i] /= shared ? simd_count : simds;
    }
    for (u64* sum : {&cycles.issuing, &cycles.waiting_memory, &cycles.waiting_lds,
                     &cycles.waiting_barrier, &cycles.waiting_result, &cycles.waiting_unit}) {
      *sum /= simds;
    }
  }

  static constexpr u64 queue = 64;  // cycles of work that LDS and memory take in advance
  const Program& program_;
  LoopRange loop_;
  u64 now_ = 0;
  Simd simds_[simd_count];
  std::vector<ModelWave> waves_;
  std::vector<u32> arrived_;  // at the barrier, of each workgroup
  u64 lds_free_ = 0, memory_free_ = 0;
  u64 inside_ = 0;
  bool any_left_ = false;
  Votes simd_votes_[simd_count];
  bool simd_issued_[simd_count] = {};
  ModelResult result_;
};

}  // namespace

u32 resident_workgroups(const Kernel& kernel, u32 waves, u32 lds_bytes, Target target) {
  constexpr u32 wave_slots = 8, register_count = 512;
  const u32 registers = std::max(kernel.descriptor.vgprs(), 8u);
  const u32 waves_per_simd = std::clamp(register_count / registers, 1u, wave_slots);
  const u32 by_waves = std::max(waves_per_simd * simd_count / waves, 1u);
  const u32 by_lds = lds_bytes ? lds_limit(target) / lds_bytes : ~0u;
  return std::max(1u, std::min(by_waves, by_lds));
}

u32 resident_workgroups(const LaunchState& state) {
  return resident_workgroups(state.launch.kernel, state.waves, state.lds_bytes, state.target);
}

ModelResult simulate(const Program& program, const std::vector<Trace>& traces, LoopRange loop) {
  return Model(program, traces, loop).run();
}

}  // namespace instinct
