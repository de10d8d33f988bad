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
  if constexpr (Arch::rounds_weights) {
    if (sums_rounded()) weights = tile::row_total<Wave>(weight_sum_, slot);
  }
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
    Arch::with_output_dtype(p_.o_dtype, [&]<DType dtype>() {
      if constexpr (requires { requires Arch::stages_output; } && size_of(dtype) == 2) {
        if (tiles_ > 0 && rows_are_aligned()) return store_staged_rows<dtype>(item);
      }
      store_rows<dtype>(item);
    });
  }
}

/// A lane's columns of one row of the output.
template <class Arch, Config config>
template <DType dtype>
WF_DEVICE void Steps<Arch, config>::store_row(char* row, int slot, Element factor) {
  using L = typename Output::Layout;
  constexpr int neighbours = [] {  // columns of the lane that lie side by side
    if constexpr (requires { L::neighbours; }) return L::neighbours;
    return 1;
  }();
  const int lane = lane_of_tile();
  WF_UNROLL
  for (int j = 0; j < L::active_per_slot(p_.head_dim_vo); j += neighbours) {
    const int column = L::col(lane, j);
    if constexpr (neighbours == 1) {
      Arch::template store<dtype>(row, column, p_.head_dim_vo,
                                  output_.e[L::index(slot, j)] * factor);
    } else {
      tile::Several<Element, neighbours> values;
      WF_UNROLL
      for (int i = 0; i < neighbours; ++i) values.e[i] = output_.e[L::index(slot, j + i)] * factor;
      Arch::template store<dtype>(row, column, p_.head_dim_vo, values);
    }
  }
}

template <class Arch, Config config>
template <DType dtype>
WF_DEVICE void Steps<Arch, config>::store_rows(const WorkItem& item) {
  using L = typename Output::Layout;
  const float v_scale = value_scale(p_, item.kv_head);
  char* out = static_cast<char*>(p_.o);
  tile::for_slots<L>(output_extent(), [&](int slot) {
    const i32 row = L::row(lane_of_tile(), slot);
    const Row query = row_of(p_, item, tile::min(row, rows_ - 1));
    const RowEnd end = end_row(slot, sink_of(p_, query.head));
    if (row >= rows_) return;
    const i64 token = request().q_begin + query.token;
    if (p_.lse != nullptr && L::col(lane_of_tile(), 0) == 0) {
      p_.lse[token * p_.lse_stride_token + query.head * p_.lse_stride_head] = end.lse;
    }
    char* to = out + (token * p_.o_stride_token + query.head * p_.o_stride_head) * size_of(dtype);
    const Element factor = Traits::splat(end.factor * v_scale);
    store_row<dtype>(to, slot, factor);
  });
}

/// The same where the team has the tile of the queries to put 16-bit rows together: they are stored
/// whole.
template <class Arch, Config config>
template <DType dtype>
WF_DEVICE void Steps<Arch, config>::store_staged_rows(const WorkItem& item) {
  using L = typename Output::Layout;
  const float v_scale = value_scale(p_, item.kv_head);
  tile::for_slots<L>(output_extent(), [&](int slot) {
    const i32 row = L::row(lane_of_tile(), slot);
    const Row query = row_of(p_, item, tile::min(row, rows_ - 1));
    const RowEnd end = end_row(slot, sink_of(p_, query.head));
    const i64 token = request().q_begin + query.token;
    if (row < rows_ && p_.lse != nullptr && L::col(lane_of_tile(), 0) == 0) {
      p_.lse[token * p_.lse_stride_token + query.head * p_.lse_stride_head] = end.lse;
    }
    const float factor = end.factor * v_scale;
    tile::map_row(output_, slot, output_extent(), [&](Element o) { return o * factor; });
  });
  char* out = static_cast<char*>(p_.o);
  Arch::template store_staged<dtype>(query_tile(), output_, rows_, p_.head_dim_vo, [&](i32 row) {
    const Row query = row_of(p_, item, row);
    const i64 token = request().q_begin + query.token;
    return out + (token * p_.o_stride_token + query.head * p_.o_stride_head) * size_of(dtype);
  });
}

template <class Arch, Config config>
WF_DEVICE void Steps<Arch, config>::store_partial(const WorkItem& item) {
  using L = typename Output::Layout;
  tile::for_slots<L>(output_extent(), [&](int slot) {
    const i32 row = L::row(lane_of_tile(), slot);
    const RowEnd end = end_row(slot, -tile::infinity);
    if (row >= rows_) return;
    const i64 at = i64{item.partial} + row;
    if (L::col(lane_of_tile(), 0) == 0) p_.partial_lse[at] = end.lse;
    const Element factor = Traits::splat(end.factor);
    char* to = reinterpret_cast<char*>(p_.partial_o + at * p_.head_dim_vo);
    store_row<DType::f32>(to, slot, factor);
  });
}

/// The parts of one head of a join: row r of part i is partial row first + i * stride + r.
struct Parts {
  WorkItem item;  // head and rows
  i64 first;
  i64 stride;
  i32 count;
};

WF_DEVICE Parts parts_of(const Params& p, const Join& join, i32 head) {
  Parts parts;
  parts.item.request = join.request;
  parts.item.kv_head = join.kv_head * p.heads_per_item + head;
  parts.item.row_begin = join.row_begin;
  parts.item.row_count = join.row_count;
  parts.first = i64{join.partial} * p.heads_per_item + i64{head} * join.row_count;
  parts.stride = i64{join.row_count} * p.heads_per_item;
  parts.count = join.parts;
  return parts;
}

/// Calls f(part, LSE of `row` in that part) in order. Several loads are on their way at a time.
template <class Arch, class F>
WF_DEVICE void for_part_lse(const Params& p, const Parts& parts, i32 row, F&& f) {
  constexpr i32 together = 8;
  const float* lse = p.partial_lse + parts.first + row;
  for (i32 part = 0; part < parts.count; part += together) {
    float values[together];
    WF_UNROLL
    for (i32 i = 0; i < together; ++i) {
      if (part + i < parts.count) {
        values[i] = Arch::load_shared_result(lse + (part + i) * parts.stride);
      }
    }
    WF_UNROLL
    for (i32 i = 0; i < together; ++i) {
      if (part + i < parts.count) f(part + i, values[i]);
    }
  }
}

/// Writes the joint LSEs, and the weight of each part in the output over its own LSE.
template <class Arch>
WF_DEVICE void weigh_parts(const Params& p, const Parts& parts) {
  const float v_scale = value_scale(p, parts.item.kv_head);
  const i64 q_begin = p.requests[parts.item.request].q_begin;
  for (i32 row = Arch::Wave::lane(); row < parts.item.row_count; row += Arch::team_lanes) {
    const Row query = row_of(p, parts.item, row);
    const float sink = sink_of(p, query.head);
    float top = sink;
    for_part_lse<Arch>(p, parts, row, [&](i32, float lse) { top = tile::max(top, lse); });
    if (top == -tile::infinity) top = 0.f;  // empty parts weigh exp2(-inf), parts with NaN are NaN
    float total = Arch::exp2(sink - top);
    for_part_lse<Arch>(p, parts, row, [&](i32, float lse) { total += Arch::exp2(lse - top); });
    const float factor = total == 0.f ? 0.f : v_scale / total;
    float* weights = p.partial_lse + parts.first + row;
    for_part_lse<Arch>(p, parts, row, [&](i32 part, float lse) {
      weights[part * parts.stride] = Arch::exp2(lse - top) * factor;
    });
    if (p.lse == nullptr) continue;
    const i64 token = q_begin + query.token;
    p.lse[token * p.lse_stride_token + query.head * p.lse_stride_head] =
        total == 0.f ? -tile::infinity : top + Arch::log2(total);
  }
}

/// Adds up the weighted parts. The team's lanes share the (row, columns) places, several at a time.
template <class Arch>
WF_DEVICE void add_parts(const Params& p, const Parts& parts) {
  using Wide = typename Arch::Wide;
  using Traits = tile::ElementTraits<Wide>;
  constexpr i32 together = 4;
  const i32 columns = (p.head_dim_vo + Traits::width - 1) / Traits::width;
  const i32 places = parts.item.row_count * columns;
  const i64 q_begin = p.requests[parts.item.request].q_begin;
  for (i32 first = Arch::Wave::lane(); first < places; first += together * Arch::team_lanes) {
    Wide sum[together];
    i32 row[together], column[together];
    WF_UNROLL
    for (i32 i = 0; i < together; ++i) {
      // Places behind the end repeat the last one and are not stored.
      const i32 place = tile::min(first + i * Arch::team_lanes, places - 1);
      row[i] = place / columns;
      column[i] = (place - row[i] * columns) * Traits::width;
      sum[i] = Traits::splat(0.f);
    }
    for (i32 part = 0; part < parts.count; ++part) {
      WF_UNROLL
      for (i32 i = 0; i < together; ++i) {
        const i64 at = parts.first + part * parts.stride + row[i];
        const float weight = Arch::load_shared_result(p.partial_lse + at);
        const Wide value =
            Arch::load_first(p.partial_o + at * p.head_dim_vo, column[i], p.head_dim_vo);
        sum[i] = tile::fma(Traits::splat(weight), value, sum[i]);
      }
    }
    WF_UNROLL
    for (i32 i = 0; i < together; ++i) {
      if (first + i * Arch::team_lanes >= places) continue;
      const Row query = row_of(p, parts.item, row[i]);
      const i64 at = (q_begin + query.token) * p.o_stride_token + query.head * p.o_stride_head;
      Arch::with_output_dtype(p.o_dtype, [&]<DType dtype>() {
        char* to = static_cast<char*>(p.o) + at * size_of(dtype);
        Arch::template store<dtype>(to, column[i], p.head_dim_vo, sum[i]);
      });
    }
  }
}

/// Merges the partial results of head `head` of a join's bundle into the output, part by part in
/// the order of their keys.
template <class Arch>
WF_DEVICE void merge_parts(const Params& p, const Join& join, i32 head) {
  const Parts parts = parts_of(p, join, head);
  weigh_parts<Arch>(p, parts);
  Arch::team_sync();
  add_parts<Arch>(p, parts);
}

WF_NAMESPACE_END
