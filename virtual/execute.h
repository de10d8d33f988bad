// Runs a kernel of a code object, workgroup by workgroup.
#pragma once

#include <optional>
#include <span>

#include "virtual/code_object.h"
#include "virtual/memory.h"
#include "virtual/profile.h"
#include "virtual/report.h"
#include "virtual/types.h"

namespace instinct {

struct Dim3 {
  u32 x = 1, y = 1, z = 1;
  u64 count() const { return u64{x} * y * z; }
};

struct Launch {
  const CodeObject& object;
  const Kernel& kernel;
  Dim3 grid;   // in workgroups
  Dim3 block;  // in work items
  u32 dynamic_lds = 0;
  std::span<const std::byte> kernarg;  // the whole segment, hidden arguments filled in
  Memory& memory;
  Checks checks;
  u64 seed = 0;  // 0: waves take turns in order; else the order that belongs to this seed
  Profile* profile = nullptr;
  int threads = 0;            // 0: as many as the machine has cores
  u64 instruction_limit = 0;  // of one wave, after which it counts as stuck; 0: 2^36
};

// The first thing that went wrong, if any: the launch then stopped there. Throws Error for a launch
// that cannot start (block too large, LDS exceeded, no entry).
std::optional<Report> execute(const Launch& launch);

// What a workgroup may have (CDNA.md: LDS 64 KB on gfx942, 160 KB on gfx950).
u32 lds_limit(Target target);

}  // namespace instinct
