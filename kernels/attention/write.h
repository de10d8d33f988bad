// From running state to result: the output, a partial result, and the join of partial results.
#pragma once

#include "attention/steps.h"

WF_NAMESPACE_BEGIN(attention)

WF_DEVICE float sink_of(const Params& p, i32 head) {
  return p.sinks == nullptr ? -tile::infinity : p.sinks[head] * log2_e;
}

WF_DEVICE float value_scale(const Params& p, i32 kv_head) {
  return p.v_head_scale == nullptr ? p.v_scale : p.v_scale * p.v_head_scale[kv_head];
}

/// A sink is a logit without a value: it takes part in the sum and in the LSE. `sink` is -inf where
/// there is none. A row without any mass gives factor 0 and LSE -inf, one that saw NaN gives NaN.
template <class Arch, Config config>
WF_DEVICE RowEnd Steps<Arch, config>::end_row(int slot, float sink) const {
  const float maximum = maximum_.e[slot];
  const float sum = tile::row_total<Wave>(sum_, slot);
  float weights = sum;  // as the product saw them
  if constexpr (Arch::rounds_weights) weights = tile::row_total<Wave>(weight_sum_, slot);
  const float top = tile::max(maximum, sink);
  if (top == -tile::infinity && sum == 0.f) return {0.f, -tile::infinity};
  if (top == -tile::infinity) return {sum, sum};  // only NaN logits
  const float shrink = Arch::exp2(maximum - top);
  const float sink_weight = Arch::exp2(sink - top);
  const float total = tile::fma(sum, shrink, sink_weight);
  if (total == 0.f) return {0.f, -tile::infinity};
  return {shrink / tile::fma(weights, shrink, sink_weight), top + Arch::log2(total)};
}

template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::finish(const WorkItem& item) {
  if (item.partial >= 0) {
    store_partial(item);
  } else {
    Arch::with_output_dtype(p_.o_dtype, [&]<DType dtype>() { store_rows<dtype>(item); });
  }
}

template <class Arch, Config config>
template <DType dtype>
WF_DEVICE void Steps<Arch, config>::store_rows(const WorkItem& item) {
  using L = typename Output::Layout;
  const float v_scale = value_scale(p_, item.kv_head);
  char* out = static_cast<char*>(p_.o);
  tile::for_slots<L>(output_extent(), [&](int slot) {
    const i32 row = L::row(lane_, slot);
    const Row query = row_of(p_, item, tile::min(row, rows_ - 1));
    const RowEnd end = end_row(slot, sink_of(p_, query.head));
    if (row >= rows_) return;
    const i64 token = request_.q_begin + query.token;
    if (p_.lse != nullptr && L::col(lane_, 0) == 0) {
      p_.lse[token * p_.lse_stride_token + query.head * p_.lse_stride_head] = end.lse;
    }
    char* to = out + (token * p_.o_stride_token + query.head * p_.o_stride_head) * size_of(dtype);
    const Element factor = Traits::splat(end.factor * v_scale);
    WF_UNROLL
    for (int j = 0; j < L::active_per_slot(p_.head_dim_vo); ++j) {
      const int column = L::col(lane_, j);
      Arch::template store<dtype>(to, column, p_.head_dim_vo,
                                  output_.e[L::index(slot, j)] * factor);
    }
  });
}

template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::store_partial(const WorkItem& item) {
  using L = typename Output::Layout;
  tile::for_slots<L>(output_extent(), [&](int slot) {
    const i32 row = L::row(lane_, slot);
    const RowEnd end = end_row(slot, -tile::infinity);
    if (row >= rows_) return;
    const i64 at = i64{item.partial} + row;
    if (L::col(lane_, 0) == 0) p_.partial_lse[at] = end.lse;
    const Element factor = Traits::splat(end.factor);
    char* to = reinterpret_cast<char*>(p_.partial_o + at * p_.head_dim_vo);
    WF_UNROLL
    for (int j = 0; j < L::active_per_slot(p_.head_dim_vo); ++j) {
      Arch::template store<DType::f32>(to, L::col(lane_, j), p_.head_dim_vo,
                                       output_.e[L::index(slot, j)] * factor);
    }
  });
}

/// Merges the partial results of head `head` of a join's bundle into the output, part by part in
/// the order of their keys. The team's lanes share the (row, column) pairs.
template <class Arch>
WF_DEVICE void merge_parts(const Params& p, const Join& join, i32 head) {
  using Element = typename Arch::Element;
  using Traits = tile::ElementTraits<Element>;
  const Request request = p.requests[join.request];
  WorkItem item;
  item.kv_head = join.kv_head * p.heads_per_item + head;
  item.row_begin = join.row_begin;
  const float v_scale = value_scale(p, item.kv_head);
  const i64 part_rows = i64{join.row_count} * p.heads_per_item;
  const i64 first = i64{join.partial} * p.heads_per_item + i64{head} * join.row_count;
  const i32 columns = (p.head_dim_vo + Traits::width - 1) / Traits::width;
  char* out = static_cast<char*>(p.o);
  for (i32 place = Arch::Wave::lane(); place < join.row_count * columns;
       place += Arch::team_lanes) {
    const i32 row = place / columns;
    const i32 column = (place - row * columns) * Traits::width;
    const Row query = row_of(p, item, row);
    const i64 token = request.q_begin + query.token;
    const float* lse = p.partial_lse + first + row;
    float top = sink_of(p, query.head);
    for (i32 part = 0; part < join.parts; ++part) {
      top = tile::max(top, Arch::load_shared_result(lse + part * part_rows));
    }
    if (top == -tile::infinity) top = 0.f;  // empty parts weigh exp2(-inf), parts with NaN are NaN
    Element sum = Traits::splat(0.f);
    float total = Arch::exp2(sink_of(p, query.head) - top);
    for (i32 part = 0; part < join.parts; ++part) {
      const i64 at = first + part * part_rows + row;
      const float weight = Arch::exp2(Arch::load_shared_result(p.partial_lse + at) - top);
      total += weight;
      sum =
          tile::fma(Traits::splat(weight),
                    Arch::load_first(p.partial_o + at * p.head_dim_vo, column, p.head_dim_vo), sum);
    }
    const float factor = total == 0.f ? 0.f : v_scale / total;
    Arch::with_output_dtype(p.o_dtype, [&]<DType dtype>() {
      char* to = out + (token * p.o_stride_token + query.head * p.o_stride_head) * size_of(dtype);
      Arch::template store<dtype>(to, column, p.head_dim_vo, sum * Traits::splat(factor));
    });
    if (p.lse != nullptr && column == 0) {
      p.lse[token * p.lse_stride_token + query.head * p.lse_stride_head] =
          total == 0.f ? -tile::infinity : top + Arch::log2(total);
    }
  }
}

WF_NAMESPACE_END
