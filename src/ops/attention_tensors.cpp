#include "ops/attention_tensors.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace wavefire::ops {
namespace {

constexpr const char* operation = "attention";

/// One of k, v, k_tail: checked, with the strides of its layout.
attention::KvTensor read_kv(const char* argument, const TensorView& view, const AttentionOptions& o,
                            const AttentionBatch& batch, std::int64_t dims) {
  const bool nhd = o.kv_layout == KvLayout::nhd;
  const core::TensorRule rule = core::check(operation, argument, view);
  rule.defined().on(o.device).dtype(o.kv_dtype);
  const std::int64_t heads = o.num_kv_heads;
  attention::KvTensor tensor{view.data, 0, 0, 0, static_cast<i32>(dims)};
  if (batch.paged) {
    if (nhd) {
      rule.shape({-1, batch.page_size, heads, dims});
    } else {
      rule.shape({-1, heads, batch.page_size, dims});
    }
    if (batch.max_page >= view.shape[0]) {
      core::fail_argument(
          operation, "kv_indices", core::join("page ", batch.max_page),
          core::join("page indices below ", view.shape[0], ", the pages of '", argument, "'"));
    }
    tensor.stride_page = view.strides[0];
    tensor.stride_token = view.strides[nhd ? 1 : 2];
    tensor.stride_head = view.strides[nhd ? 2 : 1];
  } else {
    if (nhd) {
      rule.shape({-1, heads, dims});
    } else {
      rule.shape({heads, -1, dims});
    }
    if (view.shape[nhd ? 0 : 1] < batch.kv_rows) {
      core::fail_argument(
          operation, argument, view,
          core::join("at least ", batch.kv_rows, " rows, the last entry of kv_indptr"));
    }
    tensor.stride_token = view.strides[nhd ? 0 : 1];
    tensor.stride_head = view.strides[nhd ? 1 : 0];
  }
  rule.last_dim_contiguous();
  return tensor;
}

enum class Values { finite, finite_or_minus_infinity };

/// What they hold is checked on the host only.
const float* read_floats(const char* argument, const TensorView& view, Device device,
                         std::int64_t size, Values accepted = Values::finite) {
  if (!view.defined()) return nullptr;
  core::check(operation, argument, view).on(device).dtype(DType::f32).shape({size}).contiguous();
  const float* values = view.as<const float>();
  if (device.type != DeviceType::cpu) return values;
  for (std::int64_t i = 0; i < size; ++i) {
    const bool masks = accepted == Values::finite_or_minus_infinity && values[i] < 0;
    if (std::isfinite(values[i]) || (masks && std::isinf(values[i]))) continue;
    core::fail_argument(operation, argument, core::join(values[i], " at ", i),
                        accepted == Values::finite ? "finite numbers" : "finite numbers or -inf");
  }
  return values;
}

void require_scale(const char* argument, float scale) {
  core::require(std::isfinite(scale), operation, argument, scale, "a finite number");
}

void set_queries_and_output(attention::Params& p, const AttentionTensors& t,
                            const AttentionOptions& o, std::int64_t tokens) {
  core::check(operation, "q", t.q)
      .defined()
      .on(o.device)
      .dtype(o.q_dtype)
      .shape({tokens, o.num_qo_heads, o.head_dim_qk})
      .last_dim_contiguous();
  core::check(operation, "out", t.out)
      .defined()
      .on(o.device)
      .dtype(o.o_dtype)
      .shape({tokens, o.num_qo_heads, o.head_dim_vo})
      .last_dim_contiguous()
      .writable();
  p.q = t.q.data;
  p.o = t.out.data;
  p.q_stride_token = t.q.strides[0];
  p.q_stride_head = t.q.strides[1];
  p.o_stride_token = t.out.strides[0];
  p.o_stride_head = t.out.strides[1];
  p.q_dtype = o.q_dtype;
  p.kv_dtype = o.kv_dtype;
  p.o_dtype = o.o_dtype;
  if (t.lse.defined()) {
    core::check(operation, "lse", t.lse)
        .on(o.device)
        .dtype(DType::f32)
        .shape({tokens, o.num_qo_heads})
        .writable();
    p.lse = t.lse.as<float>();
    p.lse_stride_token = t.lse.strides[0];
    p.lse_stride_head = t.lse.strides[1];
  }
}

void set_keys_and_values(attention::Params& p, const AttentionTensors& t, const AttentionOptions& o,
                         const AttentionBatch& batch) {
  std::int64_t tail = 0;
  if (t.k_tail.defined()) {
    tail = t.k_tail.rank > 0 ? t.k_tail.shape[t.k_tail.rank - 1] : 0;
    if (tail <= 0 || tail >= o.head_dim_qk || tail % 8 != 0) {
      core::fail_argument(
          operation, "k_tail", t.k_tail,
          core::join("a multiple of 8 columns, fewer than head_dim_qk (", o.head_dim_qk, ")"));
    }
    p.k[1] = read_kv("k_tail", t.k_tail, o, batch, tail);
    p.k_segments = 2;
  }
  p.k[0] = read_kv("k", t.k, o, batch, o.head_dim_qk - tail);
  p.v = read_kv("v", t.v, o, batch, o.head_dim_vo);
  const attention::KvTensor& k = p.k[0];
  const bool alias = k.data == p.v.data && k.dims >= p.v.dims && k.stride_page == p.v.stride_page &&
                     k.stride_token == p.v.stride_token && k.stride_head == p.v.stride_head;
  p.v_aliases_k = alias ? 1 : 0;
  if (!batch.paged) return;
  p.page_table = batch.page_table.data();
  p.page_table_size = static_cast<i64>(batch.page_table.size());
  p.page_size = batch.page_size;
  p.num_pages = std::min(t.k.shape[0], t.v.shape[0]);
  if (tail > 0) p.num_pages = std::min<i64>(p.num_pages, t.k_tail.shape[0]);
}

void set_logits(attention::Params& p, const AttentionTensors& t, const AttentionOptions& o) {
  require_scale("q_scale", t.q_scale);
  require_scale("k_scale", t.k_scale);
  require_scale("v_scale", t.v_scale);
  p.sm_scale = *o.sm_scale * t.q_scale * t.k_scale;
  if (!std::isfinite(p.sm_scale)) {
    core::fail_argument(
        operation, "q_scale",
        core::join(t.q_scale, " with k_scale ", t.k_scale, " and sm_scale ", *o.sm_scale),
        "scales with a finite product");
  }
  p.v_scale = t.v_scale;
  p.q_head_scale = read_floats("q_head_scale", t.q_head_scale, o.device, o.num_qo_heads);
  p.k_head_scale = read_floats("k_head_scale", t.k_head_scale, o.device, o.num_kv_heads);
  p.v_head_scale = read_floats("v_head_scale", t.v_head_scale, o.device, o.num_kv_heads);
  p.sinks =
      read_floats("sinks", t.sinks, o.device, o.num_qo_heads, Values::finite_or_minus_infinity);
  p.alibi_slopes = read_floats("alibi_slopes", t.alibi_slopes, o.device, o.num_qo_heads);
  core::require(p.alibi_slopes == nullptr || o.position_mode == PositionMode::alibi, operation,
                "alibi_slopes", "given", "none unless the plan's position mode is ALIBI");
  p.soft_cap = o.logits_soft_cap;
  p.causal = o.causal ? 1 : 0;
  p.window_left = o.window_left;
}

}  // namespace

attention::Params read_tensors(const AttentionTensors& tensors, const AttentionOptions& options,
                               const AttentionBatch& batch) {
  attention::Params p;
  set_queries_and_output(p, tensors, options, batch.tokens);
  set_keys_and_values(p, tensors, options, batch);
  set_logits(p, tensors, options);
  p.custom_mask = batch.mask.empty() ? nullptr : batch.mask.data();
  p.num_qo_heads = options.num_qo_heads;
  p.num_kv_heads = options.num_kv_heads;
  p.group = options.num_qo_heads / options.num_kv_heads;
  p.head_dim_qk = options.head_dim_qk;
  p.head_dim_vo = options.head_dim_vo;
  return p;
}

void require_gpu_tensors(const Place& place, const attention::Params& p) {
  if (p.k_segments > 1) {
    core::fail_unsupported(operation, core::join("'k_tail' is given; kernels of ", place.gpu->id(),
                                                 " take keys in one tensor"));
  }
  // Rows go by chunks of eight elements, at most sixteen bytes.
  const auto require_aligned = [&](const char* argument, const void* data, DType dtype,
                                   std::int64_t strides) {
    const std::int64_t elements = 8;
    const std::int64_t bytes = std::min<std::int64_t>(elements * size_of(dtype), 16);
    core::require(reinterpret_cast<std::uintptr_t>(data) % bytes == 0 && strides % elements == 0,
                  operation, argument, "not aligned",
                  core::join("rows that begin at multiples of ", bytes, " bytes"));
  };
  const auto strides = [](const attention::KvTensor& t) {
    return t.stride_page | t.stride_token | t.stride_head;
  };
  require_aligned("q", p.q, p.q_dtype, p.q_stride_token | p.q_stride_head);
  require_aligned("k", p.k[0].data, p.kv_dtype, strides(p.k[0]));
  require_aligned("v", p.v.data, p.kv_dtype, strides(p.v));
}

}  // namespace wavefire::ops
