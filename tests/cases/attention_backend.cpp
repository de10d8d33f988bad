#include "cases/attention_backend.h"

#include "device/cpu/levels.h"

namespace wavefire::cases {

std::string CpuAttention::name() const {
  return std::string("cpu ") + cpu::name_of(cpu::active_level());
}

DType CpuAttention::operand(const AttentionCase& c) const {
  const bool bf16 = c.q == DType::bf16 && c.kv == DType::bf16 && cpu::has_bf16_products();
  return bf16 ? DType::bf16 : DType::f32;
}

void CpuAttention::run(AttentionData& data) {
  const AttentionCase& c = data.attention_case();
  if (c.single() && c.page_size == 0 && c.storage != Storage::padded && !c.packed_mask) {
    single_attention(data.options, data.tensors, data.mask());
    return;
  }
  BatchAttention attention;
  if (c.page_size > 0) {
    attention.plan(data.options, data.qo_indptr.view(), data.page_table(), data.mask());
  } else {
    attention.plan(data.options, data.qo_indptr.view(), data.kv_indptr.view(), data.mask());
  }
  data.clobber_plan_inputs();
  attention.run(data.tensors);
}

}  // namespace wavefire::cases
