#include "device/cpu/levels.h"

#include "core/check.h"
#include "wavefire/config.h"

namespace wavefire::cpu {
namespace {

bool has_level(Level level) {
  switch (level) {
    case Level::scalar: return true;
#ifdef WAVEFIRE_WITH_AVX2
    case Level::avx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
             __builtin_cpu_supports("f16c") != 0;
#endif
#ifdef WAVEFIRE_WITH_AVX512
    case Level::avx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
             __builtin_cpu_supports("avx512bf16") != 0;
#endif
    default: return false;
  }
}

}  // namespace

const char* name_of(Level level) {
  static constexpr const char* names[] = {"scalar", "avx2", "avx512"};
  return names[static_cast<int>(level)];
}

Level active_level() {
  const std::string& wanted = config().cpu_level;
  for (Level level : {Level::avx512, Level::avx2, Level::scalar}) {
    if (wanted == "auto" ? has_level(level) : wanted == name_of(level)) {
      if (has_level(level)) return level;
      core::fail_unsupported("config", "WAVEFIRE_CPU_LEVEL=" + wanted +
                                           ", but this processor or build lacks that level");
    }
  }
  return Level::scalar;
}

// Intel's processors sum bf16 pairs at half the rate of fma (measured on Sapphire Rapids: 64
// against 138 GFLOP/s), AMD's at twice.
bool has_bf16_products() {
#ifdef WAVEFIRE_WITH_AVX512
  return active_level() == Level::avx512 && __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

const AttentionKernels& attention_kernels() {
  switch (active_level()) {
#ifdef WAVEFIRE_WITH_AVX512
    case Level::avx512: return attention_kernels_avx512;
#endif
#ifdef WAVEFIRE_WITH_AVX2
    case Level::avx2: return attention_kernels_avx2;
#endif
    default: return attention_kernels_scalar;
  }
}

const RowKernels& row_kernels() {
  switch (active_level()) {
#ifdef WAVEFIRE_WITH_AVX512
    case Level::avx512: return row_kernels_avx512;
#endif
#ifdef WAVEFIRE_WITH_AVX2
    case Level::avx2: return row_kernels_avx2;
#endif
    default: return row_kernels_scalar;
  }
}

}  // namespace wavefire::cpu

std::string wavefire::active_cpu_level() { return cpu::name_of(cpu::active_level()); }
