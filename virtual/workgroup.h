// A workgroup: its waves, LDS, scratch, and who runs when.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "virtual/execute.h"
#include "virtual/lds.h"
#include "virtual/memory.h"
#include "virtual/report.h"
#include "virtual/trace.h"
#include "virtual/wave.h"

namespace instinct {

// Thrown by whatever finds a fault; execute() catches it.
struct Stop {
  Report report;
};

// What a launch's workgroups share. Read only while they run, but for `counts`.
struct LaunchState {
  const Launch& launch;
  const Program& program;
  std::shared_ptr<const MemoryMap> map;
  Checks checks = {};
  Target target = Target::gfx942;
  u32 waves = 1;          // of a workgroup
  u32 lds_bytes = 0;      // static and dynamic
  u32 scratch_bytes = 0;  // of a lane
  // Memory of the runtime that kernels read: the kernarg segment, the dispatch packet.
  std::vector<Allocation> internal = {};
  u64 kernarg = 0;
  u64 dispatch_packet = 0;
  u64 instruction_limit = 0;
};

class Workgroup {
 public:
  explicit Workgroup(const LaunchState& state);
  ~Workgroup();
  Workgroup(const Workgroup&) = delete;
  Workgroup& operator=(const Workgroup&) = delete;

  // Runs one to its end. Throws Stop.
  void run(u32 x, u32 y, u32 z);

  // In pieces: waves as they are at their start; one instruction of one of them.
  void start(u32 x, u32 y, u32 z);
  Wave& wave(u32 index) { return waves_[index]; }
  void step(Wave& wave, const Instruction& in);

  [[noreturn]] void fail(const Wave& wave, const Instruction& in, Fault fault, int lane,
                         const std::string& message) const;
  [[noreturn]] void fail(const Wave& wave, const Instruction& in, Fault fault, int lane,
                         const char* message) const;
  [[noreturn]] void fail_bounds(const Wave& wave, const Instruction& in, u32 lane, u64 address,
                                u32 bytes, bool writes) const;
  [[noreturn]] void fail_lds(const Wave& wave, const Instruction& in, u32 lane, u32 address,
                             u32 bytes) const;
  [[noreturn]] void fail_scratch(const Wave& wave, const Instruction& in, u32 lane, u32 offset,
                                 u32 bytes) const;
  enum class Conflict : u8 { written, read, under_way, same_instruction };
  [[noreturn]] void fail_race(const Wave& wave, const Instruction& in, u32 lane, u32 address,
                              Conflict conflict, u32 other) const;
  // The allocation that holds [address, address + bytes), or nullptr.
  const Allocation* find(u64 address, u64 bytes);
  // Scratch of a lane: `bytes` at `offset`.
  u8* scratch(const Wave& wave, u32 lane) {
    return scratch_.get() + (u64{wave.index} * wave_lanes + lane) * state.scratch_bytes;
  }
  u8* scratch_undefined(const Wave& wave, u32 lane) {
    return scratch_undefined_.get() + (u64{wave.index} * wave_lanes + lane) * state.scratch_bytes;
  }
  void end_wave(Wave& wave, const Instruction& in);
  void arrive(Wave& wave, const Instruction& in);

  const LaunchState& state;
  Lds lds;
  std::vector<u64> counts;  // executions of each instruction
  Trace* trace = nullptr;   // what is executed, if somebody wants it
  u32 access_cycles = 0;    // of the instruction being executed, while tracing

 private:
  void start_wave(Wave& wave);
  void start_scalars(Wave& wave);
  template <bool traced>
  void run_wave(Wave& wave, u64 quantum);
  void release_barrier();
  u32 pick();

  u32 id_[3] = {};
  std::unique_ptr<Wave[]> waves_;
  Row* rows_ = nullptr;
  u64 rows_bytes_ = 0;
  std::unique_ptr<u8[]> scratch_;
  std::unique_ptr<u8[]> scratch_undefined_;
  const Allocation* last_found_ = nullptr;
  const Wave* first_ended_ = nullptr;
  std::mt19937_64 random_;
  u32 turn_ = 0;
  u32 alive_ = 0;
  u32 waiting_ = 0;  // at the barrier
};

}  // namespace instinct
