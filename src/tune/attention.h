// Which attention kernel takes a request. Pure functions of the problem.
#pragma once

#include <cstdint>
#include <optional>

#include "attention/config.h"
#include "device/cpu/attention_kernels.h"
#include "generate/spec.h"

namespace wavefire::tune {

/// What of a problem decides the kernel.
struct AttentionProblem {
  int head_dim_qk;
  int head_dim_vo;
  int num_kv_heads;
  bool bf16_operands;  // q and k are bf16 and the processor multiplies bf16 pairs
};

/// The kernel for requests of `packed_rows` rows (query tokens times group): the one laid out for
/// few rows while a single tile holds them all, and of those the smallest whose head dims suffice.
/// nullptr: there is none.
const cpu::AttentionKernel* select_attention(const cpu::AttentionKernels& kernels,
                                             const AttentionProblem& problem,
                                             std::int64_t packed_rows);

/// The same for a GPU: what a kernel for requests of `packed_rows` rows is compiled for, with q and
/// KV of type `operand`. Nothing: there is none.
std::optional<attention::Config> gpu_attention(generate::Architecture architecture, DType operand,
                                               int head_dim, std::int64_t packed_rows);
/// The largest that `gpu_attention` has kernels for.
inline constexpr int max_gpu_head_dim = 256;

/// The largest bundle of KV heads that divides `num_kv_heads`.
int bundle_heads(const cpu::AttentionKernel& kernel, int num_kv_heads);

}  // namespace wavefire::tune
