#include "cases/attention_backend.h"

#include <algorithm>

#include "device/cpu/levels.h"

namespace wavefire::cases {

std::string LibraryAttention::name() const {
  if (test_gpu() != nullptr) return test_gpu()->id();
  return std::string("cpu ") + cpu::name_of(cpu::active_level());
}

/// What kernels of GPUs are compiled for (src/ops/attention_kernel.cpp).
bool LibraryAttention::takes(const AttentionCase& c) const {
  if (test_gpu() == nullptr) return true;
  const int most = test_gpu()->properties().architecture == "gfx942" ? 128 : 256;
  const bool rotates = c.positions == Positions::rope || c.positions == Positions::rope_smoothed;
  return c.q == c.kv && (c.q == DType::f16 || c.q == DType::bf16) && c.tail_dims() == 0 &&
         !rotates && std::max(c.head_dim_qk, c.head_dim_vo) <= most;
}

DType LibraryAttention::operand(const AttentionCase& c) const {
  if (test_gpu() != nullptr) return c.q;
  const bool bf16 = c.q == DType::bf16 && c.kv == DType::bf16 && cpu::has_bf16_products();
  return bf16 ? DType::bf16 : DType::f32;
}

void LibraryAttention::run(AttentionData& data) {
  const AttentionCase& c = data.attention_case();
  if (c.single() && c.page_size == 0 && c.storage != Storage::padded && !c.packed_mask) {
    single_attention(data.options, data.tensors, data.mask());
    return wait_for_device();
  }
  BatchAttention attention;
  if (c.page_size > 0) {
    attention.plan(data.options, data.qo_indptr.view(), data.page_table(), data.mask());
  } else {
    attention.plan(data.options, data.qo_indptr.view(), data.kv_indptr.view(), data.mask());
  }
  data.clobber_plan_inputs();
  attention.run(data.tensors);
  wait_for_device();
}

}  // namespace wavefire::cases
