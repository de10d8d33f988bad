// One wave to try instructions on.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <string>

#include "support.h"
#include "virtual/checks.h"
#include "virtual/opcode.h"
#include "virtual/workgroup.h"

namespace instinct {

// The opcodes that tests have run on a machine; main.cpp wants every one that there is.
inline std::set<const Opcode*>& tested_opcodes() {
  static std::set<const Opcode*> opcodes;
  return opcodes;
}

class Machine {
 public:
  explicit Machine(Target target = Target::gfx942, Checks checks = Checks::none(), u32 waves = 1,
                   const std::vector<std::string>& program = {"s_endpgm"})
      : object_(load(target)),
        program_(Program::from_text(program, target)),
        launch_{.object = *object_,
                .kernel = object_->kernels()[0],
                .grid = {},
                .block = {64 * waves, 1, 1},
                .kernarg = {},
                .memory = memory,
                .checks = checks},
        state_{.launch = launch_, .program = *program_, .map = memory.map()},
        target_(target) {
    state_.checks = checks;
    state_.target = target;
    state_.waves = waves;
    state_.lds_bytes = 4096;
    state_.scratch_bytes = 256;
    state_.instruction_limit = 1000;
    group_ = std::make_unique<Workgroup>(state_);
    group_->start(0, 0, 0);
    for (u32 i = 0; i < waves; ++i) {
      // All registers, not only those of the kernel, are there and undefined.
      Wave& one = group_->wave(i);
      for (u32 r = 0; r < vector_count && one.track; ++r) {
        std::memset(one.undefined[r].lane, 0xff, sizeof(Row));
        one.dirty.set(r);
      }
      one.vector[0] = {};
    }
  }

  Wave& wave(u32 index = 0) { return group_->wave(index); }
  Lds& lds() { return group_->lds; }
  Target target() const { return target_; }

  // A vector register, from now on defined.
  u32* v(u32 index, u32 of_wave = 0) {
    wave(of_wave).dirty.reset(index);
    return wave(of_wave).vector[index].lane;
  }
  u32* a(u32 index) { return v(first_accumulator + index); }
  u32& s(u32 index, u32 of_wave = 0) {
    wave(of_wave).scalar_undefined[index] = 0;
    wave(of_wave).scalar_dirty[index / 64] &= ~(u64{1} << index % 64);
    return wave(of_wave).scalar[index];
  }
  void set_s64(u32 index, u64 value) {
    s(index) = static_cast<u32>(value);
    s(index + 1) = static_cast<u32>(value >> 32);
  }
  u64 s64(u32 index) { return wave().scalar64(index); }
  void set_v64(u32 index, u32 lane, u64 value) {
    v(index)[lane] = static_cast<u32>(value);
    v(index + 1)[lane] = static_cast<u32>(value >> 32);
  }
  u64 v64(u32 index, u32 lane) {
    return wave().vector[index].lane[lane] | u64{wave().vector[index + 1].lane[lane]} << 32;
  }

  // Makes memory that was added since visible.
  void see_memory() { state_.map = memory.map(); }

  // Executes an instruction, of which the test looks at the result; fails if it is not known.
  void run(const std::string& text, u32 of_wave = 0) {
    tested_opcodes().insert(parse_instruction(text, target_).opcode);
    ASSERT_NE(execute(text, of_wave), nullptr) << text;
  }
  // The same for a test that says nothing of what the instruction computes.
  const Opcode* execute(const std::string& text, u32 of_wave = 0) {
    Instruction in = parse_instruction(text, target_);
    if (!in.opcode) return nullptr;
    classify_hazards(in);
    kept_.push_back(in);
    group_->step(wave(of_wave), kept_.back());
    return in.opcode;
  }
  // Executes an instruction of the program.
  void step(u32 index) {
    const Instruction& in = program_->instructions()[index];
    tested_opcodes().insert(in.opcode);
    group_->step(wave(), in);
  }
  std::optional<Fault> fault_of_step(u32 index) {
    try {
      step(index);
    } catch (const Stop& stop) {
      return stop.report.fault;
    }
    return std::nullopt;
  }
  // What a check finds at the last of these lines, or nothing.
  std::optional<Fault> fault(const std::vector<std::string>& lines, u32 of_wave = 0) {
    try {
      for (const std::string& line : lines) run(line, of_wave);
    } catch (const Stop& stop) {
      message = stop.report.message;
      return stop.report.fault;
    }
    return std::nullopt;
  }

  Memory memory;
  std::string message;

 private:
  static std::shared_ptr<const CodeObject> load(Target target) {
    const auto file = read_kernels("loading", target);
    return CodeObject::load(file);
  }

  std::shared_ptr<const CodeObject> object_;
  std::shared_ptr<const Program> program_;
  Launch launch_;
  LaunchState state_;
  Target target_;
  std::unique_ptr<Workgroup> group_;
  std::deque<Instruction> kept_;
};

// Words that are often at the edge of something, then random ones.
inline u32 sample(u32 i, u32 salt) {
  constexpr u32 edges[] = {0,          1,          2,          0x7fffffff, 0x80000000, 0xffffffff,
                           0x7fff8000, 0x00ff00ff, 0x80008000, 31,         32,         0x3f800000,
                           0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000};
  constexpr u32 edge_count = std::size(edges);
  const u32 mixed = (i * 2654435761u ^ salt * 40503u) * 2246822519u;
  if (i % 4 == 0) return edges[(mixed >> 13) % edge_count];
  return mixed ^ mixed >> 15;
}

}  // namespace instinct
