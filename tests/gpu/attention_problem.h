// Attention problems on a GPU: batches of requests over scattered pages, planned by the library's
// planner.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "attention/params.h"
#include "attention/sm80/policy.h"
#include "gpu/driver.h"
#include "plan/work_list.h"

namespace wavefire::gpu {

struct AttentionShape {
  std::vector<i32> q_len, kv_len;
  i32 qo_heads = 1, kv_heads = 1;
  i32 head_dim = 128;
  i32 page_size = 16;  // 0: ragged
  DType dtype = DType::bf16;
  bool few_rows = true;
  bool causal = false;
  i64 window_left = -1;

  i32 tokens() const { return std::accumulate(q_len.begin(), q_len.end(), 0); }
  i32 slots(std::size_t request) const {  // pages, or rows of a ragged tensor
    const i32 size = std::max(page_size, 1);
    return (kv_len[request] + size - 1) / size;
  }
  std::string kernel() const {
    return std::string(few_rows ? "few_" : "many_") + name_of(dtype) + "_" +
           std::to_string(capacity());
  }
  /// The head dim of the kernel that takes it.
  int capacity() const { return head_dim <= 64 ? 64 : head_dim <= 128 ? 128 : 256; }
  attention::Config config() const { return attention::config_of(dtype, capacity(), few_rows); }
};

/// Where the tokens lie: page tables that are permutations of a pool twice as large as needed.
struct Layout {
  std::vector<attention::Request> requests;
  std::vector<i32> table;  // empty where ragged
  i64 pages = 0;           // of the pool; rows where ragged

  Layout(const AttentionShape& s, std::mt19937& random) {
    i32 entries = 0, token = 0;
    i64 mask = 0;
    for (std::size_t r = 0; r < s.q_len.size(); ++r) {
      requests.push_back({token, entries, mask, s.q_len[r], s.kv_len[r]});
      entries += s.slots(r);
      token += s.q_len[r];
      mask += (i64{s.q_len[r]} * s.kv_len[r] + 7) / 8;
    }
    mask_bytes = mask;
    pages = s.page_size > 0 ? 2 * entries + 1 : std::max(entries, 1);
    if (s.page_size == 0) return;
    table.resize(static_cast<std::size_t>(pages));
    std::iota(table.begin(), table.end(), 0);
    std::shuffle(table.begin(), table.end(), random);
    table.resize(static_cast<std::size_t>(std::max(entries, 1)));
  }
  /// Row of the pool in which key `key` of a request lies.
  i64 row(const AttentionShape& s, std::size_t request, i32 key) const {
    const i64 first = requests[request].kv_begin;
    if (s.page_size == 0) return first + key;
    return i64{table[static_cast<std::size_t>(first + key / s.page_size)]} * s.page_size +
           key % s.page_size;
  }
  i64 rows(const AttentionShape& s) const { return pages * std::max(s.page_size, 1); }

  i64 mask_bytes = 0;
};

/// A work list for `workers` blocks.
struct Plan {
  std::vector<attention::WorkItem> items;
  std::vector<i32> worker_begin;
  std::vector<attention::Join> joins;
  i64 partial_rows = 0;

  Plan(const AttentionShape& s, const std::vector<attention::Request>& requests, i32 workers) {
    const attention::Config config = s.config();
    const attention::PlanTraits traits{.num_kv_heads = s.kv_heads,
                                       .group = s.qo_heads / s.kv_heads,
                                       .tile_rows = config.tile_rows,
                                       .tile_kv = config.tile_kv,
                                       .workers = workers,
                                       .causal = s.causal ? 1 : 0,
                                       .window_left = s.window_left,
                                       .row_overhead = 16};
    i64 units = 0;
    for (const auto& r : requests) units += i64{plan::row_tiles(traits, r)} * s.kv_heads;
    const plan::Capacity capacity{units + workers, workers,
                                  (units + workers) * 2 * config.tile_rows};
    items.resize(static_cast<std::size_t>(capacity.items));
    joins.resize(static_cast<std::size_t>(capacity.joins));
    worker_begin.resize(static_cast<std::size_t>(workers) + 1);
    attention::WorkList list{items.data(), worker_begin.data(), joins.data()};
    const plan::Status status = plan::make_work_list(
        traits, requests.data(), static_cast<i32>(requests.size()), capacity, {}, list);
    if (status != plan::Status::ok) {
      std::fprintf(stderr, "no plan: status %d\n", static_cast<int>(status));
      std::exit(2);
    }
    items.resize(static_cast<std::size_t>(list.item_count));
    joins.resize(static_cast<std::size_t>(list.join_count));
    partial_rows = list.partial_rows;
  }
};

/// A planned problem on the device. K and V are [pages, page_size, kv_heads, head_dim] (NHD), or
/// [rows, kv_heads, head_dim] where ragged.
struct DeviceAttention {
  Buffer requests, table, items, worker_begin, joins, arrivals, partial_o, partial_lse;
  attention::Params params;

  DeviceAttention(const AttentionShape& s, const Layout& layout, const Plan& plan, const Buffer& q,
                  const Buffer& k, const Buffer& v, const Buffer& out, const Buffer& lse,
                  DType out_dtype)
      : requests(layout.requests),
        table(layout.table),
        items(plan.items),
        worker_begin(plan.worker_begin),
        joins(plan.joins),
        arrivals(std::vector<i32>(plan.joins.size() + 1)),
        partial_o(static_cast<std::size_t>(plan.partial_rows * s.head_dim) * 4),
        partial_lse(static_cast<std::size_t>(plan.partial_rows) * 4) {
    partial_o.poison();
    partial_lse.poison();
    attention::Params& p = params;
    const i64 row = i64{s.kv_heads} * s.head_dim;
    const i64 page = row * std::max(s.page_size, 1);
    p.q = q.as<void>(), p.o = out.as<void>(), p.lse = lse.as<float>();
    p.q_stride_token = p.o_stride_token = i64{s.qo_heads} * s.head_dim;
    p.q_stride_head = p.o_stride_head = s.head_dim;
    p.lse_stride_token = s.qo_heads, p.lse_stride_head = 1;
    p.k[0] = {k.as<void>(), page, row, s.head_dim, s.head_dim};
    p.v = {v.as<void>(), page, row, s.head_dim, s.head_dim};
    if (s.page_size > 0) {
      p.page_table = table.as<i32>();
      p.page_table_size = static_cast<i64>(layout.table.size());
      p.num_pages = layout.pages;
      p.page_size = s.page_size;
    }
    p.requests = requests.as<attention::Request>();
    p.items = items.as<attention::WorkItem>();
    p.worker_begin = worker_begin.as<i32>();
    p.joins = joins.as<attention::Join>();
    p.join_arrivals = arrivals.as<i32>();
    p.partial_o = partial_o.as<float>(), p.partial_lse = partial_lse.as<float>();
    p.workers = static_cast<i32>(plan.worker_begin.size()) - 1;
    p.num_qo_heads = s.qo_heads, p.num_kv_heads = s.kv_heads, p.group = s.qo_heads / s.kv_heads;
    p.head_dim_qk = p.head_dim_vo = s.head_dim;
    p.q_dtype = p.kv_dtype = s.dtype, p.o_dtype = out_dtype;
    p.sm_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.head_dim)));
    p.causal = s.causal ? 1 : 0, p.window_left = s.window_left;
  }
};

inline Launch attention_launch(const Module& module, const AttentionShape& s, i32 workers) {
  const attention::Config config = s.config();
  const int shared_bytes = attention::shared_bytes(config);
  return {module.function(s.kernel().c_str(), shared_bytes), static_cast<unsigned>(workers),
          static_cast<unsigned>(config.tile_rows * 2), static_cast<unsigned>(shared_bytes)};
}

}  // namespace wavefire::gpu
