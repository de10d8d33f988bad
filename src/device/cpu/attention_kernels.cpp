// The attention kernels of one CPU level. Compiled once for every level with that level's flags.
#include "device/cpu/attention_kernels.h"

#include WAVEFIRE_TILE_HEADER

#include "device/cpu/attention_entry.h"

namespace wavefire::cpu {
namespace {

// Few rows: what eight heads fetch for the next tile must stay in L2 until it is used, and memory
// gives most when K and V of a page are read close in time. The products of bf16 pairs keep up with
// memory even in short tiles. Many rows: 64 rows repay the transposition of K, 64 keys the pass
// over the output.
constexpr attention::Config few_rows(int head_dim, DType operand = DType::f32) {
  return {.operand = operand,
          .tile_rows = 16,
          .tile_kv = head_dim <= 128 && operand != DType::bf16 ? 64 : 32,
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
    attention_kernel<few_rows(64)>("few_rows_64"),
    attention_kernel<many_rows(64)>("many_rows_64"),
    attention_kernel<few_rows(128)>("few_rows_128"),
    attention_kernel<many_rows(128)>("many_rows_128"),
    attention_kernel<few_rows(256)>("few_rows_256"),
    attention_kernel<many_rows(256)>("many_rows_256"),
    attention_kernel<few_rows(512)>("few_rows_512"),
    attention_kernel<many_rows(512)>("many_rows_512"),
#ifdef WAVEFIRE_PAIR_PRODUCTS
    attention_kernel<few_rows(64, DType::bf16), tile::CpuPairs>("few_rows_64_bf16"),
    attention_kernel<many_rows(64, DType::bf16), tile::CpuPairs>("many_rows_64_bf16"),
    attention_kernel<few_rows(128, DType::bf16), tile::CpuPairs>("few_rows_128_bf16"),
    attention_kernel<many_rows(128, DType::bf16), tile::CpuPairs>("many_rows_128_bf16"),
    attention_kernel<few_rows(256, DType::bf16), tile::CpuPairs>("few_rows_256_bf16"),
    attention_kernel<many_rows(256, DType::bf16), tile::CpuPairs>("many_rows_256_bf16"),
#endif
};

}  // namespace

#define WF_JOIN(a, b) a##b
#define WF_TABLE(level) WF_JOIN(attention_kernels_, level)
extern const AttentionKernels WF_TABLE(WAVEFIRE_TARGET) = {sizeof(kernels) / sizeof(kernels[0]),
                                                           kernels};

}  // namespace wavefire::cpu
