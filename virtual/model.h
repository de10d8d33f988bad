// The model of a compute unit: four SIMDs with their resident waves, LDS and the path to memory,
// driven by what the waves executed. A model, not the machine: the constants are in model.cpp.
#pragma once

#include <vector>

#include "virtual/profile.h"
#include "virtual/trace.h"
#include "virtual/workgroup.h"

namespace instinct {

// Workgroups of `waves` waves that a compute unit holds at once, by LDS, registers and wave slots.
u32 resident_workgroups(const Kernel& kernel, u32 waves, u32 lds_bytes, Target target);
u32 resident_workgroups(const LaunchState& state);

// A loop of the program: the instructions from `first` to the backward branch `last`.
struct LoopRange {
  u32 first = 1, last = 0;
  bool empty() const { return last < first; }
  bool contains(u32 index) const { return index >= first && index <= last; }
};

struct ModelResult {
  Cycles whole;
  Cycles loop;  // while every wave was inside `loop`
};

// `traces`: of the workgroups that are resident together.
ModelResult simulate(const Program& program, const std::vector<Trace>& traces, LoopRange loop);

// From how often each instruction was executed, and the traces.
void fill_profile(const LaunchState& state, const std::vector<u64>& executed,
                  const std::vector<Trace>& traces, Profile& profile);

}  // namespace instinct
