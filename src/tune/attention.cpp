#include "tune/attention.h"

#include <algorithm>
#include <iterator>

#include "attention/cdna/policy.h"
#include "attention/sm80/policy.h"
#include "attention/sm90/policy.h"

namespace wavefire::tune {

const cpu::AttentionKernel* select_attention(const cpu::AttentionKernels& kernels,
                                             const AttentionProblem& problem,
                                             std::int64_t packed_rows) {
  const int head_dim = std::max(problem.head_dim_qk, problem.head_dim_vo);
  const cpu::AttentionKernel* best = nullptr;
  const auto better = [&](const cpu::AttentionKernel& a, const cpu::AttentionKernel& b) {
    const bool few = packed_rows <= (a.few_rows ? a.tile_rows : b.tile_rows);
    if (a.few_rows != b.few_rows) return a.few_rows == few;
    if (a.bf16_products != b.bf16_products) return a.bf16_products;
    return a.max_head_dim < b.max_head_dim;
  };
  for (int i = 0; i < kernels.count; ++i) {
    const cpu::AttentionKernel& kernel = kernels.kernels[i];
    if (kernel.max_head_dim < head_dim) continue;
    if (kernel.bf16_products && !problem.bf16_operands) continue;
    if (best == nullptr || better(kernel, *best)) best = &kernel;
  }
  return best;
}

namespace {

bool is_cdna(generate::Architecture architecture) {
  return architecture == generate::Architecture::gfx942 ||
         architecture == generate::Architecture::gfx950;
}

}  // namespace

std::optional<GpuAttention> gpu_attention(generate::Architecture architecture,
                                          const GpuAttentionProblem& problem,
                                          std::int64_t packed_rows) {
  using generate::Architecture;
  const auto [q, kv, rotates, head_dim, custom_mask, portable] = problem;
  if (is_cdna(architecture)) {
    if (q == DType::f32 || kv != q || rotates) return std::nullopt;
    for (const attention::CdnaPolicy& policy : attention::cdna_policies) {
      if (policy.head_dim < head_dim) continue;
      const bool few = policy.few_rows > 0 && packed_rows <= policy.few_rows;
      return GpuAttention{architecture, attention::config_of(policy, q, few)};
    }
    return std::nullopt;
  }
  // Each 16-bit type holds every float8 number, but not every number of the other.
  const bool has_operand = q != DType::f32 && (kv == q || is_float8(kv));
  for (const attention::TilePolicy& few : attention::few_rows_policies) {
    if (!has_operand || rotates || few.head_dim < head_dim) continue;
    const bool few_rows = packed_rows <= few.tile_rows;
    const bool warpgroups =
        architecture == Architecture::sm90 && !few_rows && kv == q && !custom_mask && !portable;
    if (warpgroups) {
      return GpuAttention{Architecture::sm90a, attention::warpgroups_config_of(q, few.head_dim)};
    }
    return GpuAttention{architecture, attention::config_of(q, kv, few.head_dim, few_rows)};
  }
  for (const attention::TilePolicy& policy : attention::float_policies) {
    if (policy.head_dim < head_dim) continue;
    return GpuAttention{architecture, attention::float_config_of(policy.head_dim)};
  }
  return std::nullopt;
}

GpuAttentionLimits gpu_attention_limits(generate::Architecture architecture) {
  if (is_cdna(architecture)) {
    return {.head_dim = std::end(attention::cdna_policies)[-1].head_dim, .all_types = false};
  }
  return {.head_dim = std::end(attention::float_policies)[-1].head_dim, .all_types = true};
}

int bundle_heads(const cpu::AttentionKernel& kernel, int num_kv_heads) {
  int heads = std::min(kernel.max_bundle, num_kv_heads);
  while (num_kv_heads % heads != 0) --heads;
  return heads;
}

}  // namespace wavefire::tune
