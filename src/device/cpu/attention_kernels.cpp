// The attention kernels of one CPU level. Compiled once for every level with that level's flags.
#include "device/cpu/attention_kernels.h"

#include WAVEFIRE_TILE_HEADER

#include "attention/attend.h"
#include "schedule/lockstep.h"
#include "tile/cpu/cpu.h"
#ifdef WAVEFIRE_PAIR_PRODUCTS
#include "tile/cpu/cpu_pairs.h"
#endif

namespace {

struct InPlace {};

}  // namespace

__attribute__((always_inline)) inline void* operator new(std::size_t, InPlace, void* at) {
  return at;
}

namespace wavefire::cpu {
namespace {

template <class Arch, attention::Config config>
struct Scratch {
  typename attention::Steps<Arch, config>::Shared shared;
  attention::Steps<Arch, config> steps[config.bundle];
};

template <class Arch, attention::Config config>
void run(const attention::Params& params, int worker, void* scratch) {
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
constexpr AttentionKernel kernel(const char* name) {
  return {name,
          config.tile_rows,
          config.tile_kv,
          config.head_dim_qk,
          config.bundle,
          config.few_rows,
          config.operand == DType::bf16,
          sizeof(Scratch<Arch, config>),
          run<Arch, config>};
}

// Few rows: eight heads of 64 keys are 256 KiB of bf16 K and V at head dim 128: what is fetched for
// the next tile stays in L2 until it is used. Many rows: 64 rows repay the transposition of K, 64
// keys the pass over the output.
constexpr attention::Config few_rows(int head_dim, DType operand = DType::f32) {
  return {.operand = operand,
          .tile_rows = 16,
          .tile_kv = head_dim <= 128 ? 64 : 32,
          .head_dim_qk = head_dim,
          .head_dim_vo = head_dim,
          .bundle = 8,
          .few_rows = true};
}
constexpr attention::Config many_rows(int head_dim, DType operand = DType::f32) {
  return {.operand = operand,
          .tile_rows = 64,
          .tile_kv = 64,
          .head_dim_qk = head_dim,
          .head_dim_vo = head_dim};
}

constexpr AttentionKernel kernels[] = {
    kernel<few_rows(64)>("few_rows_64"),
    kernel<many_rows(64)>("many_rows_64"),
    kernel<few_rows(128)>("few_rows_128"),
    kernel<many_rows(128)>("many_rows_128"),
    kernel<few_rows(256)>("few_rows_256"),
    kernel<many_rows(256)>("many_rows_256"),
    kernel<few_rows(512)>("few_rows_512"),
    kernel<many_rows(512)>("many_rows_512"),
#ifdef WAVEFIRE_PAIR_PRODUCTS
    kernel<few_rows(64, DType::bf16), tile::CpuPairs>("few_rows_64_bf16"),
    kernel<many_rows(64, DType::bf16), tile::CpuPairs>("many_rows_64_bf16"),
    kernel<few_rows(128, DType::bf16), tile::CpuPairs>("few_rows_128_bf16"),
    kernel<many_rows(128, DType::bf16), tile::CpuPairs>("many_rows_128_bf16"),
    kernel<few_rows(256, DType::bf16), tile::CpuPairs>("few_rows_256_bf16"),
    kernel<many_rows(256, DType::bf16), tile::CpuPairs>("many_rows_256_bf16"),
#endif
};

}  // namespace

#define WF_JOIN(a, b) a##b
#define WF_TABLE(level) WF_JOIN(attention_kernels_, level)
extern const AttentionKernels WF_TABLE(WAVEFIRE_TARGET) = {sizeof(kernels) / sizeof(kernels[0]),
                                                           kernels};

}  // namespace wavefire::cpu
