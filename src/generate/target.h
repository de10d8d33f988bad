// What the generator knows of each architecture, as data.
#pragma once

#include <span>

#include "generate/spec.h"

namespace wavefire::generate {

enum class Platform : unsigned char { cpu, cuda, hip };

struct Target {
  Architecture architecture;
  Platform platform;
  const char* name;      // WAVEFIRE_TARGET: the namespace of its kernels
  const char* header;    // of the tile layer
  const char* type;      // the architecture in kernels/
  const char* schedule;  // of attention; its header is in `schedule_header`
  const char* schedule_header;
  const char* compiler_name;           // "sm_80", "gfx942"; nullptr on a CPU
  std::span<const char* const> flags;  // of the host compiler
};

const Target& target_of(Architecture architecture);

}  // namespace wavefire::generate
