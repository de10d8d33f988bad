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

/// What of a problem decides the kernel on a GPU, besides the rows of a request.
struct GpuAttentionProblem {
  DType q_dtype;
  DType kv_dtype;
  bool rotates;  // RoPE inside of attention
  int head_dim;  // the larger one
  bool custom_mask = false;
  bool portable = false;  // no kernel but those that PTX can hold
};
struct GpuAttention {
  generate::Architecture architecture;
  attention::Config config;
};
/// The same for a GPU whose portable kernels are those of `architecture`: what a kernel for
/// requests of `packed_rows` rows is compiled for. Nothing: there is none.
std::optional<GpuAttention> gpu_attention(generate::Architecture architecture,
                                          const GpuAttentionProblem& problem,
                                          std::int64_t packed_rows);

/// What `gpu_attention` has kernels for.
struct GpuAttentionLimits {
  int head_dim;    // the largest
  bool all_types;  // of q and KV, mixed too, and RoPE; else float16 and bfloat16
};
GpuAttentionLimits gpu_attention_limits(generate::Architecture architecture);

/// The largest bundle of KV heads that divides `num_kv_heads`.
int bundle_heads(const cpu::AttentionKernel& kernel, int num_kv_heads);

}  // namespace wavefire::tune
