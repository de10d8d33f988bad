// From a configuration to an attention kernel of the CPU level that includes this: the table of the
// library and the units that the generator emits are made of it. WAVEFIRE_TARGET's tile header
// comes before.
#pragma once

#include "attention/attend.h"
#include "device/cpu/attention_kernels.h"
#include "schedule/lockstep.h"
#include "tile/cpu/cpu.h"
#ifdef WAVEFIRE_PAIR_PRODUCTS
#include "tile/cpu/cpu_pairs.h"
#endif

namespace wavefire::cpu {
inline namespace WAVEFIRE_TARGET {

struct InPlace {};

}  // namespace WAVEFIRE_TARGET
}  // namespace wavefire::cpu

// <new> has inline functions that must not be compiled with a level's flags.
__attribute__((always_inline)) inline void* operator new(__SIZE_TYPE__, wavefire::cpu::InPlace,
                                                         void* at) {
  return at;
}

namespace wavefire::cpu {
inline namespace WAVEFIRE_TARGET {

template <class Arch, attention::Config config>
struct Scratch {
  typename attention::Steps<Arch, config>::Shared shared;
  attention::Steps<Arch, config> steps[config.bundle];
};

template <class Arch, attention::Config config>
void run_attention(const attention::Params& params, int worker, void* scratch) {
  using Steps = attention::Steps<Arch, config>;
  attention::LaunchParams<typename Arch::Tail> launch{params, {}};
  auto* memory = static_cast<Scratch<Arch, config>*>(scratch);
  for (int head = 0; head < params.heads_per_item; ++head) {
    new (InPlace{}, &memory->steps[head]) Steps(launch, memory->shared);
  }
  attention::Bundle<Steps> bundle{params, memory->steps};
  attention::attend<Arch, schedule::Lockstep>(params, worker, bundle);
}

template <attention::Config config, class Arch = tile::Cpu>
constexpr AttentionKernel attention_kernel(const char* name) {
  return {name,
          config.tile_rows,
          config.tile_kv,
          config.head_dim_qk,
          config.bundle,
          config.few_rows,
          config.operand == DType::bf16,
          sizeof(Scratch<Arch, config>),
          run_attention<Arch, config>};
}

}  // namespace WAVEFIRE_TARGET
}  // namespace wavefire::cpu
