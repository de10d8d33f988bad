#include "cases/small_attention.h"

namespace wavefire::cases {

SmallResult SmallAttention::run(const Route& route) const {
  AttentionOptions o = options;
  o.device = test_device();
  o.kv_layout = route.layout;
  o.workers = route.workers;
  o.fixed_split_kv = route.fixed_split;
  if (o.head_dim_vo == 0) o.head_dim_vo = o.head_dim_qk;
  std::vector<std::int32_t> qo{0}, kv{0}, indices, last;
  for (const auto& [q_len, kv_len] : lengths) {
    const int pages = route.page_size == 0 ? 0 : (kv_len + route.page_size - 1) / route.page_size;
    qo.push_back(qo.back() + q_len);
    kv.push_back(kv.back() + (route.page_size == 0 ? kv_len : pages));
    last.push_back(pages == 0 ? 0 : (kv_len - 1) % route.page_size + 1);
  }
  // Descending pages.
  for (int entry = 0; entry < kv.back() && route.page_size > 0; ++entry) {
    indices.push_back(kv.back() - 1 - entry);
  }
  const HostTensor keys = rows(route, o.head_dim_qk, kv, indices, k);
  const HostTensor values = rows(route, o.head_dim_vo, kv, indices, v);
  const HostTensor queries(o.q_dtype, {qo.back(), o.num_qo_heads, o.head_dim_qk});
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::int64_t t = 0; t < lengths[b].first; ++t) {
      for (std::int64_t h = 0; h < o.num_qo_heads; ++h) {
        for (std::int64_t d = 0; d < o.head_dim_qk; ++d) {
          set(queries.view(), {qo[b] + t, h, d}, q(static_cast<std::int64_t>(b), t, h, d));
        }
      }
    }
  }
  SmallResult result{HostTensor(o.o_dtype, {qo.back(), o.num_qo_heads, o.head_dim_vo}),
                     HostTensor(DType::f32, {qo.back(), o.num_qo_heads})};
  result.out.fill_bits(reference::nan_bits_of(o.o_dtype));
  result.lse.fill_bits(reference::nan_bits_of(DType::f32));

  const HostTensor qo_indptr = HostTensor::of(qo), kv_indptr = HostTensor::of(kv);
  const HostTensor kv_indices = HostTensor::of(indices), last_page_len = HostTensor::of(last);
  const HostTensor bits = HostTensor::of_bytes(DType::b1, mask);
  const CustomMask custom{mask.empty() ? TensorView{} : bits.view(), {}};
  BatchAttention attention;
  if (route.page_size == 0) {
    attention.plan(o, qo_indptr.view(), kv_indptr.view(), custom);
  } else {
    const PageTable pages{kv_indptr.view(), kv_indices.view(), last_page_len.view(),
                          route.page_size};
    attention.plan(o, qo_indptr.view(), pages, custom);
  }
  run_planned(attention, queries, keys, values, result);
  result.joins = attention.joins();
  return result;
}

HostTensor SmallAttention::rows(const Route& route, std::int64_t dims,
                                const std::vector<std::int32_t>& first,
                                const std::vector<std::int32_t>& indices,
                                const Formula& formula) const {
  const bool nhd = route.layout == KvLayout::nhd;
  const std::int64_t heads = options.num_kv_heads;
  std::vector<std::int64_t> shape;
  if (route.page_size > 0) shape.push_back(first.back());
  const std::int64_t slots = route.page_size > 0 ? route.page_size : first.back();
  shape.insert(shape.end(), {nhd ? slots : heads, nhd ? heads : slots, dims});
  HostTensor tensor(options.kv_dtype, shape);
  tensor.fill_bits(reference::nan_bits_of(options.kv_dtype));
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::int64_t j = 0; j < lengths[b].second; ++j) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t d = 0; d < dims; ++d) {
          const double value = formula(static_cast<std::int64_t>(b), j, h, d);
          if (route.page_size == 0) {
            const std::int64_t row = first[b] + j;
            set(tensor.view(), {nhd ? row : h, nhd ? h : row, d}, value);
          } else {
            const auto entry = static_cast<std::size_t>(first[b] + j / route.page_size);
            const std::int64_t slot = j % route.page_size;
            set(tensor.view(), {indices[entry], nhd ? slot : h, nhd ? h : slot, d}, value);
          }
        }
      }
    }
  }
  return tensor;
}

void SmallAttention::run_planned(const BatchAttention& attention, const HostTensor& queries,
                                 const HostTensor& keys, const HostTensor& values,
                                 SmallResult& result) const {
  std::vector<HostTensor> extras;
  const auto optional = [&](const std::vector<float>& data) {
    if (data.empty()) return TensorView{};
    extras.push_back(HostTensor::of(data));
    return extras.back().view();
  };
  AttentionTensors t;
  t.q = queries.view();
  t.k = keys.view();
  t.v = values.view();
  t.out = result.out.view();
  t.lse = result.lse.view();
  t.q_scale = q_scale;
  t.k_scale = k_scale;
  t.v_scale = v_scale;
  t.sinks = optional(sinks);
  t.q_head_scale = optional(q_head_scale);
  t.k_head_scale = optional(k_head_scale);
  t.v_head_scale = optional(v_head_scale);
  t.alibi_slopes = optional(alibi_slopes);
  attention.run(t);
  wait_for_device();
}

}  // namespace wavefire::cases
