#include "generate/target.h"

#include <array>
#include <charconv>

#include "core/check.h"

namespace wavefire::generate {
namespace {

// As in cmake/WavefireCpuKernels.cmake.
constexpr std::array avx2_flags = {"-mavx2", "-mfma", "-mf16c"};
constexpr std::array avx512_flags = {"-mavx512f",    "-mavx512bw", "-mavx512vl", "-mavx512dq",
                                     "-mavx512bf16", "-mfma",      "-mf16c"};

constexpr Target cpu(Architecture architecture, const char* name, const char* header,
                     std::span<const char* const> flags) {
  return {.architecture = architecture,
          .platform = Platform::cpu,
          .name = name,
          .header = header,
          .type = "tile::Cpu",
          .schedule = "schedule::Lockstep",
          .schedule_header = "schedule/lockstep.h",
          .rows_header = "tile/cpu/rows.h",
          .flags = flags};
}

/// A GPU that runs the portable kernels of sm_80, compiled for itself.
constexpr Target nvidia(Architecture architecture, const char* compiler_name) {
  const bool has_clusters = architecture >= Architecture::sm90;
  return {.architecture = architecture,
          .platform = Platform::cuda,
          .name = "sm80",
          .header = "tile/sm80/arch.h",
          .type = "tile::Sm80For<config>",
          .schedule = "schedule::InOrder",
          .schedule_header = "schedule/in_order.h",
          .rows_header = "tile/sm80/rows.h",
          .has_clusters = has_clusters,
          .compiler_name = compiler_name};
}

constexpr Target sm90a = {.architecture = Architecture::sm90a,
                          .platform = Platform::cuda,
                          .name = "sm90",
                          .header = "tile/sm90/arch.h",
                          .type = "tile::Sm90Team<config.tile_rows / 64>",
                          .schedule = "schedule::WarpSpecialized",
                          .schedule_header = "schedule/warp_specialized.h",
                          .compiler_name = "sm_90a"};

constexpr Target amd(Architecture architecture, const char* name, const char* header,
                     const char* type) {
  return {.architecture = architecture,
          .platform = Platform::hip,
          .name = name,
          .header = header,
          .type = type,
          .schedule = "schedule::ByWaves<config.tile_rows / 32>",
          .schedule_header = "schedule/ping_pong.h",
          .rows_header = "tile/cdna/rows.h",
          .compiler_name = name};
}

constexpr std::array targets = {
    cpu(Architecture::scalar, "scalar", "tile/cpu/scalar/arch.h", {}),
    cpu(Architecture::avx2, "avx2", "tile/cpu/avx2/arch.h", avx2_flags),
    cpu(Architecture::avx512, "avx512", "tile/cpu/avx512/arch.h", avx512_flags),
    nvidia(Architecture::sm80, "sm_80"),
    nvidia(Architecture::sm86, "sm_86"),
    nvidia(Architecture::sm89, "sm_89"),
    nvidia(Architecture::sm90, "sm_90"),
    sm90a,
    nvidia(Architecture::sm100, "sm_100"),
    nvidia(Architecture::sm120, "sm_120"),
    amd(Architecture::gfx942, "gfx942", "tile/gfx942/arch.h",
        "tile::Gfx942<config.tile_rows / 32>"),
    amd(Architecture::gfx950, "gfx950", "tile/gfx950/arch.h",
        "tile::Gfx950<config.tile_rows / 32>"),
};

/// The number of "sm_90"; 0 for other names.
int capability_of(std::string_view name) {
  constexpr std::string_view prefix = "sm_";
  int number = 0;
  if (!name.starts_with(prefix)) return 0;
  const std::string_view digits = name.substr(prefix.size());
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && stop == digits.data() + digits.size() ? number : 0;
}

}  // namespace

const Target& target_of(Architecture architecture) {
  return targets[static_cast<std::size_t>(architecture)];
}

Architecture architecture_of_gpu(std::string_view name) {
  const int wanted = capability_of(name);
  const Target* best = nullptr;
  int best_capability = 0;
  for (const Target& target : targets) {
    if (target.compiler_name == nullptr) continue;
    if (name == target.compiler_name) return target.architecture;
    const int capability = capability_of(target.compiler_name);
    const bool runs = capability / 10 == wanted / 10 && capability <= wanted;
    if (capability == 0 || !runs || capability < best_capability) continue;
    best = &target;
    best_capability = capability;
  }
  if (best != nullptr) return best->architecture;
  core::fail_unsupported(
      "generate", core::join("there are no kernels for ", name,
                             "; there are for NVIDIA sm_80 to sm_120 and for AMD gfx942, gfx950"));
}

}  // namespace wavefire::generate
