// What the generator knows of each architecture, as data.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "generate/spec.h"

namespace wavefire::generate {

enum class Platform : unsigned char { cpu, cuda, hip };

struct Target {
  Architecture architecture;
  Platform platform;
  const char* name;                         // WAVEFIRE_TARGET: the namespace of its kernels
  const char* header;                       // of the tile layer
  const char* type;                         // the architecture in kernels/
  const char* schedule;                     // of attention
  const char* schedule_header;              // where that is
  const char* rows_header = nullptr;        // of row operations; null: there are none
  bool has_clusters = false;                // blocks that write to each other's shared memory
  bool is_ptx = false;                      // not code of a GPU: its driver compiles it
  const char* compiler_name = nullptr;      // "sm_80", "compute_80", "gfx942"; null on a CPU
  std::span<const char* const> flags = {};  // of the host compiler
};

const Target& target_of(Architecture architecture);

/// What runs on a GPU that calls itself `name` ("sm_90", "gfx942"): the portable kernels compiled
/// for it or, of NVIDIA's, for the nearest GPU before it of the same generation, whose code it
/// takes; PTX for a generation that is not known. Throws `Error` (unsupported) if there is none.
Architecture architecture_of_gpu(std::string_view name);

/// Whose code a GPU of `architecture` runs, the best first: its own, that of the GPUs before it of
/// the same generation, PTX of all before it.
std::vector<Architecture> code_for(Architecture architecture);

}  // namespace wavefire::generate
