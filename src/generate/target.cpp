#include "generate/target.h"

#include <array>
#include <charconv>
#include <ranges>

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

/// GPUs that run the portable kernels of sm_80.
constexpr Target nvidia(Architecture architecture, const char* compiler_name, bool has_clusters,
                        bool is_ptx = false) {
  return {.architecture = architecture,
          .platform = Platform::cuda,
          .name = "sm80",
          .header = "tile/sm80/arch.h",
          .type = "tile::Sm80For<config>",
          .schedule = "schedule::InOrder",
          .schedule_header = "schedule/in_order.h",
          .rows_header = "tile/sm80/rows.h",
          .has_clusters = has_clusters,
          .is_ptx = is_ptx,
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
    nvidia(Architecture::compute80, "compute_80", false, /*is_ptx=*/true),
    nvidia(Architecture::compute90, "compute_90", true, /*is_ptx=*/true),
    nvidia(Architecture::sm80, "sm_80", false),
    nvidia(Architecture::sm86, "sm_86", false),
    nvidia(Architecture::sm89, "sm_89", false),
    nvidia(Architecture::sm90, "sm_90", true),
    sm90a,
    nvidia(Architecture::sm100, "sm_100", true),
    nvidia(Architecture::sm120, "sm_120", true),
    amd(Architecture::gfx942, "gfx942", "tile/gfx942/arch.h",
        "tile::Gfx942<config.tile_rows / 32>"),
    amd(Architecture::gfx950, "gfx950", "tile/gfx950/arch.h",
        "tile::Gfx950<config.tile_rows / 32>"),
};

static_assert(targets.size() == architecture_count);

/// The number behind `prefix` in `name`; 0 if it is not that.
int number_behind(std::string_view prefix, std::string_view name) {
  int number = 0;
  if (!name.starts_with(prefix)) return 0;
  const std::string_view digits = name.substr(prefix.size());
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && stop == digits.data() + digits.size() ? number : 0;
}

/// 90 of sm_90 and compute_90; 0 of what belongs to one GPU alone, such as sm_90a.
int capability_of(const Target& target) {
  if (target.compiler_name == nullptr) return 0;
  return number_behind(target.is_ptx ? "compute_" : "sm_", target.compiler_name);
}

/// A GPU of that capability runs the target's code: its own generation's, or any PTX before it.
bool runs(int capability, const Target& target) {
  const int of_target = capability_of(target);
  return of_target > 0 && of_target <= capability &&
         (target.is_ptx || of_target / 10 == capability / 10);
}

/// The targets whose code a GPU of that capability runs, the best first.
std::vector<Architecture> targets_of(int capability) {
  std::vector<Architecture> all;
  for (const bool is_ptx : {false, true}) {
    for (const Target& target : std::views::reverse(targets)) {
      if (target.is_ptx == is_ptx && runs(capability, target)) all.push_back(target.architecture);
    }
  }
  return all;
}

}  // namespace

const Target& target_of(Architecture architecture) {
  return targets[static_cast<std::size_t>(architecture)];
}

Architecture architecture_of_gpu(std::string_view name) {
  for (const Target& target : targets) {
    if (target.platform == Platform::hip && name == target.compiler_name) {
      return target.architecture;
    }
  }
  const std::vector<Architecture> all = targets_of(number_behind("sm_", name));
  if (!all.empty()) return all.front();
  core::fail_unsupported(
      "generate", core::join("there are no kernels for ", name,
                             "; there are for NVIDIA sm_80 and later and for AMD gfx942, gfx950"));
}

std::vector<Architecture> code_for(Architecture architecture) {
  const Target& own = target_of(architecture);
  if (capability_of(own) == 0) return {architecture};
  std::vector<Architecture> all = targets_of(capability_of(own));
  if (own.is_ptx) std::erase_if(all, [](Architecture a) { return !target_of(a).is_ptx; });
  return all;
}

}  // namespace wavefire::generate
