#include "tune/attention.h"

#include <algorithm>

#include "attention/cdna/policy.h"
#include "attention/sm80/policy.h"

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

std::optional<attention::Config> gpu_attention(generate::Architecture architecture, DType operand,
                                               int head_dim, std::int64_t packed_rows) {
  if (operand != DType::bf16 && operand != DType::f16) return std::nullopt;
  if (is_cdna(architecture)) {
    for (const attention::CdnaPolicy& policy : attention::cdna_policies) {
      if (policy.head_dim < head_dim) continue;
      const bool few = policy.few_rows > 0 && packed_rows <= policy.few_rows;
      return attention::config_of(policy, operand, few);
    }
    return std::nullopt;
  }
  for (const attention::TilePolicy& few : attention::few_rows_policies) {
    if (few.head_dim < head_dim) continue;
    return attention::config_of(operand, few.head_dim, packed_rows <= few.tile_rows);
  }
  return std::nullopt;
}

int bundle_heads(const cpu::AttentionKernel& kernel, int num_kv_heads) {
  int heads = std::min(kernel.max_bundle, num_kv_heads);
  while (num_kv_heads % heads != 0) --heads;
  return heads;
}

}  // namespace wavefire::tune
