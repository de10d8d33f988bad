#include "virtual/workgroup.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <new>

#include "virtual/checks.h"
#include "virtual/opcode.h"

namespace instinct {
namespace {

constexpr u64 turn_length = 4096;  // instructions before another wave runs, without a seed

}  // namespace

Workgroup::Workgroup(const LaunchState& launch_state)
    : state(launch_state),
      lds(std::max(launch_state.lds_bytes, 1u)),
      counts(launch_state.program.instructions().size()),
      waves_(new Wave[launch_state.waves]),
      random_(launch_state.launch.seed) {  // and again for each workgroup
  // Pages appear as registers are used.
  rows_bytes_ = u64{state.waves} * 2 * vector_count * sizeof(Row);
  void* rows = mmap(nullptr, rows_bytes_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (rows == MAP_FAILED) throw Error(Error::Kind::out_of_memory, "no memory for registers");
  rows_ = static_cast<Row*>(rows);
  const u64 scratch = u64{state.waves} * wave_lanes * state.scratch_bytes;
  if (scratch) {
    scratch_.reset(new u8[scratch]);
    scratch_undefined_.reset(new u8[scratch]);
  }
}

Workgroup::~Workgroup() { munmap(rows_, rows_bytes_); }

void Workgroup::run(u32 x, u32 y, u32 z) {
  start(x, y, z);
  while (alive_) {
    const u32 turn = pick();
    const u64 quantum = state.launch.seed ? 1 + random_() % 24 : turn_length;
    if (trace)
      run_wave<true>(waves_[turn], quantum);
    else
      run_wave<false>(waves_[turn], quantum);
  }
}

void Workgroup::start(u32 x, u32 y, u32 z) {
  id_[0] = x;
  id_[1] = y;
  id_[2] = z;
  const Checks& checks = state.checks;
  lds.reset(state.lds_bytes, checks.undefined, checks.races);
  const u64 scratch = u64{state.waves} * wave_lanes * state.scratch_bytes;
  if (scratch) {
    std::memset(scratch_.get(), 0xff, scratch);
    std::memset(scratch_undefined_.get(), 0xff, scratch);
  }
  random_.seed(state.launch.seed + x + 1000003ull * y + 1000000007ull * z);
  alive_ = state.waves;
  waiting_ = 0;
  turn_ = 0;
  first_ended_ = nullptr;
  for (u32 i = 0; i < state.waves; ++i) {
    Wave& wave = waves_[i];
    wave = Wave{};
    wave.index = i;
    wave.group = this;
    wave.vector = rows_ + u64{i} * 2 * vector_count;
    wave.undefined = wave.vector + vector_count;
    start_wave(wave);
  }
}

void Workgroup::start_wave(Wave& wave) {
  const KernelDescriptor& descriptor = state.launch.kernel.descriptor;
  wave.next = state.program.at(state.launch.kernel.entry);
  wave.track = state.checks.undefined;
  wave.mode = descriptor.float_mode() | u32{descriptor.dx10_clamp()} << 8 |
              u32{descriptor.ieee_mode()} << 9;
  wave.slow = wave.flush_f32() || wave.flush_f16();
  // Nothing is defined but what the runtime sets below.
  const u32 vectors = std::min<u32>(std::max(descriptor.vgprs(), 8u), first_accumulator);
  for (const u32 base : {0u, u32{first_accumulator}}) {
    std::memset(wave.vector + base, 0xff, vectors * sizeof(Row));
    if (wave.track) std::memset(wave.undefined + base, 0xff, vectors * sizeof(Row));
  }
  if (wave.track) {
    for (u32 i = 0; i < vectors; ++i) {
      wave.dirty.set(i);
      wave.dirty.set(first_accumulator + i);
    }
    std::fill(std::begin(wave.scalar_undefined), std::end(wave.scalar_undefined), ~0u);
    wave.scalar_dirty[0] = wave.scalar_dirty[1] = ~u64{0};
    wave.scc_undefined = true;
  }
  const Dim3& block = state.launch.block;
  const u64 threads = block.count();
  const u64 first = u64{wave.index} * wave_lanes;
  u64 exec = 0;
  Row& ids = wave.vector[0];
  for (u32 lane = 0; lane < wave_lanes; ++lane) {
    const u64 id = first + lane;
    if (id < threads) exec |= u64{1} << lane;
    // "User Guide for AMDGPU Backend", "Initial Kernel Execution State": packed work-item IDs.
    const u32 ids_used = descriptor.workitem_ids();
    const u32 x = static_cast<u32>(id % block.x);
    const u32 y = ids_used > 0 ? static_cast<u32>(id / block.x % block.y) : 0;
    const u32 z = ids_used > 1 ? static_cast<u32>(id / block.x / block.y) : 0;
    ids.lane[lane] = x | y << 10 | z << 20;
  }
  wave.dirty.reset(0);
  wave.set_exec(exec);
  start_scalars(wave);
}

namespace {

void define(Wave& wave, u32 index, u32 value) {
  wave.scalar[index] = value;
  wave.scalar_undefined[index] = 0;
  wave.scalar_dirty[index >> 6] &= ~(u64{1} << (index & 63));
}

void define64(Wave& wave, u32& index, u64 value) {
  define(wave, index++, static_cast<u32>(value));
  define(wave, index++, static_cast<u32>(value >> 32));
}

}  // namespace

void Workgroup::start_scalars(Wave& wave) {
  const KernelDescriptor& d = state.launch.kernel.descriptor;
  for (const u32 index : {u32{exec_register}, u32{exec_register} + 1})
    define(wave, index, wave.scalar[index]);
  u32 next = 0;
  if (d.private_segment_buffer()) {
    for (int i = 0; i < 2; ++i) define64(wave, next, 0);
  }
  if (d.dispatch_ptr()) define64(wave, next, state.dispatch_packet);
  if (d.queue_ptr()) define64(wave, next, 0);
  if (d.kernarg_segment_ptr()) define64(wave, next, state.kernarg);
  if (d.dispatch_id()) define64(wave, next, 1);
  if (d.flat_scratch_init()) define64(wave, next, 0);
  if (d.private_segment_size()) define(wave, next++, state.scratch_bytes);
  for (u32 i = 0; i < d.preload_length() && next < 16; ++i) {
    u32 word = 0;
    const u64 at = 4ull * (d.preload_offset() + i);
    if (at + 4 <= state.launch.kernarg.size()) {
      std::memcpy(&word, state.launch.kernarg.data() + at, 4);
    }
    define(wave, next++, word);
  }
  next = std::max(next, d.user_sgprs());
  if (d.workgroup_id_x()) define(wave, next++, id_[0]);
  if (d.workgroup_id_y()) define(wave, next++, id_[1]);
  if (d.workgroup_id_z()) define(wave, next++, id_[2]);
  if (d.workgroup_info()) define(wave, next++, 0);
}

u32 Workgroup::pick() {
  if (waiting_ == alive_) release_barrier();
  if (state.launch.seed) {
    u32 which = static_cast<u32>(random_() % (alive_ - waiting_));
    for (u32 i = 0;; ++i) {
      if (waves_[i].state == Wave::State::running && which-- == 0) return i;
    }
  }
  while (waves_[turn_].state != Wave::State::running) turn_ = (turn_ + 1) % state.waves;
  const u32 now = turn_;
  turn_ = (turn_ + 1) % state.waves;
  return now;
}

void Workgroup::step(Wave& wave, const Instruction& in) {
  const bool hazards = state.checks.hazards;
  wave.next = &in + 1;
  if (wave.any_pending) check_pending(wave, in);
  if (hazards && in.hazards) check_hazards(wave, in);
  ++counts[in.index];
  ++wave.executed;
  in.handler(wave, in);
  if (hazards) note_issued(wave, in);
}

template <bool traced>
void Workgroup::run_wave(Wave& wave, u64 quantum) {
  wave.yields = false;
  while (quantum-- && wave.state == Wave::State::running && !wave.yields) {
    const Instruction& in = *wave.next;
    if (traced) access_cycles = 0;
    step(wave, in);
    if (traced) (*trace)[wave.index].push_back({in.index, access_cycles});
  }
  if (wave.executed > state.instruction_limit && wave.state == Wave::State::running) {
    fail(wave, *wave.next, Fault::stuck, -1,
         "the wave has executed " + std::to_string(wave.executed) + " instructions");
  }
}

void Workgroup::arrive(Wave& wave, const Instruction&) {
  wave.state = Wave::State::at_barrier;
  ++wave.barriers;
  ++waiting_;
}

void Workgroup::release_barrier() {
  lds.next_epoch();
  for (u32 i = 0; i < state.waves; ++i) {
    if (waves_[i].state != Wave::State::at_barrier) continue;
    waves_[i].state = Wave::State::running;
    if (lds.races && waves_[i].lgkm.size()) carry_lds_over_barrier(waves_[i]);
  }
  waiting_ = 0;
}

void Workgroup::end_wave(Wave& wave, const Instruction& in) {
  wave.state = Wave::State::ended;
  --alive_;
  // Nothing waits for what it still has under way.
  if (state.checks.waits || state.checks.races) wait_for(wave, {0, 0, 0});
  if (!state.checks.barriers) return;
  if (!first_ended_) {
    first_ended_ = &wave;
  } else if (first_ended_->barriers != wave.barriers) {
    fail(wave, in, Fault::barrier, -1,
         "wave " + std::to_string(wave.index) + " ends after " + std::to_string(wave.barriers) +
             " barriers, wave " + std::to_string(first_ended_->index) + " after " +
             std::to_string(first_ended_->barriers));
  }
}

const Allocation* Workgroup::find(u64 address, u64 bytes) {
  if (last_found_ && last_found_->contains(address, bytes)) return last_found_;
  for (const Allocation& allocation : state.internal) {
    if (allocation.contains(address, bytes)) return last_found_ = &allocation;
  }
  const Allocation* found = state.map->find(address);
  if (!found || !found->contains(address, bytes)) return nullptr;
  return last_found_ = found;
}

// Reports.

void Workgroup::fail(const Wave& wave, const Instruction& in, Fault fault, int lane,
                     const std::string& message) const {
  const CodeObject& object = state.launch.object;
  Report report;
  report.fault = fault;
  report.kernel = state.launch.kernel.name;
  report.function = object.function_at(in.address);
  report.instruction = state.program.text(in);
  report.address = object.file_address(in.address);
  report.line = object.source_line(in.address);
  std::copy(std::begin(id_), std::end(id_), std::begin(report.workgroup));
  report.wave = wave.index;
  report.lane = lane;
  report.message = message;
  throw Stop{report};
}

void Workgroup::fail(const Wave& wave, const Instruction& in, Fault fault, int lane,
                     const char* message) const {
  fail(wave, in, fault, lane, std::string(message));
}

namespace {

std::string hex(u64 value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string describe(const Allocation& a) {
  const char* kinds[] = {"device memory", "host memory", "a code object", "host memory"};
  return "allocation " + std::to_string(a.id) + " (" + std::to_string(a.size) + " bytes of " +
         kinds[static_cast<int>(a.kind)] + " at " + hex(a.base) + ")";
}

}  // namespace

void Workgroup::fail_bounds(const Wave& wave, const Instruction& in, u32 lane, u64 address,
                            u32 bytes, bool writes) const {
  std::string message = std::string(writes ? "store" : "load") + " of " + std::to_string(bytes) +
                        " bytes at " + hex(address);
  const Allocation* in_it = state.map->find(address);
  if (in_it && in_it->contains(address, bytes)) {
    message += " in " + describe(*in_it) + ", which is read only";
  } else if (const Allocation* freed = state.map->find_freed(address)) {
    message += ", " + std::to_string(address - freed->base) + " bytes into " + describe(*freed) +
               ", which was freed";
  } else if (const Allocation* below = state.map->below(address);
             below && address - below->base < below->size + (u64{1} << 32)) {
    const u64 end = below->base + below->size;
    message += address < end ? ", partly behind the end of "
                             : ", " + std::to_string(address - end) + " bytes behind the end of ";
    message += describe(*below);
  } else if (const Allocation* above = state.map->above(address);
             above && above->base - address < (u64{1} << 32)) {
    message += ", " + std::to_string(above->base - address) + " bytes before " + describe(*above);
  } else {
    message += ", which is nowhere near an allocation";
  }
  fail(wave, in, Fault::out_of_bounds, static_cast<int>(lane), message);
}

void Workgroup::fail_lds(const Wave& wave, const Instruction& in, u32 lane, u32 address,
                         u32 bytes) const {
  fail(wave, in, Fault::out_of_bounds, static_cast<int>(lane),
       std::to_string(bytes) + " bytes at " + hex(address) + " of LDS, which has " +
           std::to_string(lds.size) + " bytes");
}

void Workgroup::fail_scratch(const Wave& wave, const Instruction& in, u32 lane, u32 offset,
                             u32 bytes) const {
  fail(wave, in, Fault::out_of_bounds, static_cast<int>(lane),
       std::to_string(bytes) + " bytes at " + hex(offset) + " of scratch, which has " +
           std::to_string(state.scratch_bytes) + " bytes for each lane");
}

void Workgroup::fail_race(const Wave& wave, const Instruction& in, u32 lane, u32 address,
                          Conflict conflict, u32 other) const {
  const std::string place = "LDS byte " + hex(address);
  const std::string who =
      other == Lds::several_waves ? "other waves" : "wave " + std::to_string(other);
  switch (conflict) {
    case Conflict::under_way:
      fail(wave, in, Fault::not_waited_for, static_cast<int>(lane),
           place + " is used while a load to it is under way: it needs an s_waitcnt vmcnt");
    case Conflict::written:
      fail(wave, in, Fault::race, static_cast<int>(lane),
           place + ": " + who + " wrote it since the last barrier");
    case Conflict::read:
      fail(wave, in, Fault::race, static_cast<int>(lane),
           place + ": " + who + " read it since the last barrier");
    case Conflict::same_instruction:
      fail(wave, in, Fault::race, static_cast<int>(lane),
           place + ": several lanes store different values to it");
  }
  fail(wave, in, Fault::race, static_cast<int>(lane), place);
}

}  // namespace instinct
