#include "generate/target.h"

#include <array>

namespace wavefire::generate {
namespace {

// As in cmake/WavefireCpuKernels.cmake.
constexpr std::array avx2_flags = {"-mavx2", "-mfma", "-mf16c"};
constexpr std::array avx512_flags = {"-mavx512f",    "-mavx512bw", "-mavx512vl", "-mavx512dq",
                                     "-mavx512bf16", "-mfma",      "-mf16c"};

constexpr Target cpu(Architecture architecture, const char* name, const char* header,
                     std::span<const char* const> flags) {
  return {architecture,         Platform::cpu,         name,    header, "tile::Cpu",
          "schedule::Lockstep", "schedule/lockstep.h", nullptr, flags};
}

/// A GPU that runs the portable kernels of sm_80, compiled for itself.
constexpr Target nvidia(Architecture architecture, const char* compiler_name) {
  return {architecture,
          Platform::cuda,
          "sm80",
          "tile/sm80/arch.h",
          "tile::Sm80Team<config.tile_rows / 16>",
          "schedule::InOrder",
          "schedule/in_order.h",
          compiler_name,
          {}};
}

constexpr std::array targets = {
    cpu(Architecture::scalar, "scalar", "tile/cpu/scalar/arch.h", {}),
    cpu(Architecture::avx2, "avx2", "tile/cpu/avx2/arch.h", avx2_flags),
    cpu(Architecture::avx512, "avx512", "tile/cpu/avx512/arch.h", avx512_flags),
    nvidia(Architecture::sm80, "sm_80"),
    nvidia(Architecture::sm86, "sm_86"),
    nvidia(Architecture::sm89, "sm_89"),
    nvidia(Architecture::sm90, "sm_90"),
    Target{Architecture::sm90a,
           Platform::cuda,
           "sm90",
           "tile/sm90/arch.h",
           "tile::Sm90",
           "schedule::WarpSpecialized<tile::Sm90>",
           "schedule/warp_specialized.h",
           "sm_90a",
           {}},
    nvidia(Architecture::sm100, "sm_100"),
    nvidia(Architecture::sm120, "sm_120"),
    Target{Architecture::gfx942,
           Platform::hip,
           "gfx942",
           "tile/gfx942/arch.h",
           "tile::Gfx942",
           "schedule::InOrder",
           "schedule/in_order.h",
           "gfx942",
           {}},
};

}  // namespace

const Target& target_of(Architecture architecture) {
  return targets[static_cast<std::size_t>(architecture)];
}

}  // namespace wavefire::generate
