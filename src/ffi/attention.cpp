// Attention and merging for Python.
#include "wavefire/attention.h"

#include <limits>

#include "ffi/tensors.h"
#include "wavefire/merge.h"

namespace wavefire::bindings {
namespace {

BatchAttention& attention(std::int64_t handle) {
  return *reinterpret_cast<BatchAttention*>(handle);
}

std::int64_t attention_create() { return reinterpret_cast<std::int64_t>(new BatchAttention); }
void attention_destroy(std::int64_t handle) { delete &attention(handle); }

AttentionOptions read_options(std::int64_t num_qo_heads, std::int64_t num_kv_heads,
                              std::int64_t head_dim_qk, std::int64_t head_dim_vo,
                              std::int64_t q_dtype, std::int64_t kv_dtype, std::int64_t o_dtype,
                              bool hnd, bool causal, std::int64_t window_left,
                              const Optional<double>& sm_scale, double soft_cap,
                              std::int64_t position_mode, double rope_scale, double rope_theta,
                              std::int64_t fixed_split_kv, bool allow_split) {
  AttentionOptions o;
  o.num_qo_heads = to_int("attention.plan", "num_qo_heads", num_qo_heads);
  o.num_kv_heads = to_int("attention.plan", "num_kv_heads", num_kv_heads);
  o.head_dim_qk = to_int("attention.plan", "head_dim_qk", head_dim_qk);
  o.head_dim_vo = to_int("attention.plan", "head_dim_vo", head_dim_vo);
  o.q_dtype = dtype_of(q_dtype);
  o.kv_dtype = dtype_of(kv_dtype);
  o.o_dtype = dtype_of(o_dtype);
  o.kv_layout = hnd ? KvLayout::hnd : KvLayout::nhd;
  o.causal = causal;
  o.window_left = window_left;
  if (sm_scale.has_value()) o.sm_scale = static_cast<float>(sm_scale.value());
  // One that rounds to 0 stays a cap, to be refused.
  o.logits_soft_cap = static_cast<float>(soft_cap);
  if (soft_cap != 0 && o.logits_soft_cap == 0) {
    o.logits_soft_cap = std::numeric_limits<float>::min();
  }
  o.position_mode = static_cast<PositionMode>(position_mode);
  o.rope.scale = static_cast<float>(rope_scale);
  o.rope.theta = static_cast<float>(rope_theta);
  o.fixed_split_kv = to_int("attention.plan", "fixed_split_kv", fixed_split_kv);
  o.allow_split = allow_split;
  return o;
}

/// kv_indices absent: ragged keys, kv_indptr counts rows. `device_type` is DLPack's; `stream` that
/// of the framework, since there may be no tensor of the device that tells it.
void attention_plan(std::int64_t handle, Tensor qo_indptr, Tensor kv_indptr, MaybeTensor kv_indices,
                    MaybeTensor kv_last_page_len, std::int64_t page_size, MaybeTensor mask,
                    MaybeTensor mask_indptr, std::int64_t num_qo_heads, std::int64_t num_kv_heads,
                    std::int64_t head_dim_qk, std::int64_t head_dim_vo, std::int64_t q_dtype,
                    std::int64_t kv_dtype, std::int64_t o_dtype, bool hnd, bool causal,
                    std::int64_t window_left, const Optional<double>& sm_scale, double soft_cap,
                    std::int64_t position_mode, double rope_scale, double rope_theta,
                    std::int64_t fixed_split_kv, bool allow_split, std::int64_t device_type,
                    std::int64_t device_index, std::int64_t stream, std::int64_t graph_pages) {
  guarded([&] {
    AttentionOptions options =
        read_options(num_qo_heads, num_kv_heads, head_dim_qk, head_dim_vo, q_dtype, kv_dtype,
                     o_dtype, hnd, causal, window_left, sm_scale, soft_cap, position_mode,
                     rope_scale, rope_theta, fixed_split_kv, allow_split);
    options.device = device_of(
        {static_cast<DLDeviceType>(device_type), to_int("attention.plan", "device", device_index)});
    options.graph_pages = graph_pages;
    const StreamScope scope(options.device, reinterpret_cast<void*>(stream));
    const CustomMask custom{view_of(mask), view_of(mask_indptr)};
    if (kv_indices.has_value()) {
      const PageTable pages{view_of(kv_indptr), view_of(kv_indices), view_of(kv_last_page_len),
                            to_int("attention.plan", "page_size", page_size)};
      attention(handle).plan(options, view_of(qo_indptr), pages, custom);
    } else {
      attention(handle).plan(options, view_of(qo_indptr), view_of(kv_indptr), custom);
    }
  });
}

void attention_run(std::int64_t handle, Tensor q, Tensor k, Tensor v, Tensor out, MaybeTensor lse,
                   double q_scale, double k_scale, double v_scale, MaybeTensor q_head_scale,
                   MaybeTensor k_head_scale, MaybeTensor v_head_scale, MaybeTensor sinks,
                   MaybeTensor alibi_slopes) {
  guarded_on(q, [&] {
    AttentionTensors t;
    t.q = view_of(q);
    t.k = view_of(k);
    t.v = view_of(v);
    t.out = view_of(out);
    t.lse = view_of(lse);
    t.q_scale = static_cast<float>(q_scale);
    t.k_scale = static_cast<float>(k_scale);
    t.v_scale = static_cast<float>(v_scale);
    t.q_head_scale = view_of(q_head_scale);
    t.k_head_scale = view_of(k_head_scale);
    t.v_head_scale = view_of(v_head_scale);
    t.sinks = view_of(sinks);
    t.alibi_slopes = view_of(alibi_slopes);
    attention(handle).run(t);
  });
}

std::int64_t attention_workspace_bytes(std::int64_t handle) {
  return attention(handle).workspace_bytes();
}

void merge(Tensor v_a, Tensor s_a, Tensor v_b, Tensor s_b, Tensor v, Tensor s, MaybeTensor mask) {
  guarded_on(v_a, [&] {
    merge_state(view_of(v_a), view_of(s_a), view_of(v_b), view_of(s_b), view_of(v), view_of(s),
                view_of(mask));
  });
}

void merge_all(Tensor v, Tensor s, Tensor v_out, Tensor s_out) {
  guarded_on(v, [&] { merge_states(view_of(v), view_of(s), view_of(v_out), view_of(s_out)); });
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(attention_create, attention_create);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(attention_destroy, attention_destroy);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(attention_plan, attention_plan);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(attention_run, attention_run);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(attention_workspace_bytes, attention_workspace_bytes);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(merge_state, merge);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(merge_states, merge_all);

}  // namespace wavefire::bindings
