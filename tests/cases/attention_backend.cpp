#include "cases/attention_backend.h"

#include <algorithm>

#include "device/cpu/levels.h"

namespace wavefire::cases {
namespace {

bool is_amd() { return test_gpu()->properties().architecture.starts_with("gfx"); }

}  // namespace

std::string LibraryAttention::name() const {
  if (test_gpu() != nullptr) return test_gpu()->id();
  return std::string("cpu ") + cpu::name_of(cpu::active_level());
}

/// Kernels of GPUs take keys in one tensor; those of AMD 16-bit types, heads up to 256, and do
/// not rotate.
AttentionCase LibraryAttention::nearest(const AttentionCase& c) const {
  if (test_gpu() == nullptr) return c;
  AttentionCase nearest = c;
  nearest.key_form = c.values_are_keys() ? KeyForm::values_are_keys : KeyForm::plain;
  if (!is_amd()) return nearest;
  if (c.q == DType::f32) nearest.q = c.number % 2 == 0 ? DType::f16 : DType::bf16;
  nearest.kv = nearest.q;
  const bool rotates = c.positions == Positions::rope || c.positions == Positions::rope_smoothed;
  if (rotates) nearest.positions = Positions::none;
  nearest.head_dim_qk = std::min(c.head_dim_qk, 256);
  nearest.head_dim_vo = std::min(c.head_dim_vo, 256);
  return nearest;
}

DType LibraryAttention::operand(const AttentionCase& c) const {
  if (test_gpu() != nullptr) {
    const bool rotates = c.positions == Positions::rope || c.positions == Positions::rope_smoothed;
    const bool in_float = std::max(c.head_dim_qk, c.head_dim_vo) > 256 || rotates ||
                          (c.kv != c.q && !is_float8(c.kv));
    return in_float ? DType::f32 : is_float8(c.kv) ? DType::f16 : c.q;
  }
  const bool bf16 = c.q == DType::bf16 && c.kv == DType::bf16 && cpu::has_bf16_products();
  return bf16 ? DType::bf16 : DType::f32;
}

/// Kernels of AMD do, and those of NVIDIA where the output is no finer than the weights.
bool LibraryAttention::rounds_after_the_sum(const AttentionCase& c) const {
  if (test_gpu() == nullptr) return false;
  const bool coarser = c.out == DType::bf16 && operand(c) == DType::f16;
  return is_amd() || c.out == operand(c) || coarser;
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
