#include "plan/attention_plan.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include "core/check.h"
#include "plan/prove.h"

namespace wavefire::plan {
namespace {

constexpr const char* operation = "attention plan";

[[noreturn]] void fail_capacity(const char* what, i64 needed, i64 available) {
  core::fail_argument(operation, what, core::join(needed, " needed, ", available, " available"),
                      "a problem that fits the capacity fixed by the first plan");
}

void require_fit(Status status, const WorkList& list, const Capacity& capacity) {
  switch (status) {
    case Status::ok: return;
    case Status::too_many_items: fail_capacity("item capacity", list.item_count, capacity.items);
    case Status::too_many_joins: fail_capacity("join capacity", list.join_count, capacity.joins);
    case Status::too_many_partial_rows:
      fail_capacity("partial row capacity", list.partial_rows, capacity.partial_rows);
    case Status::not_proved: break;
  }
  throw Error(ErrorKind::internal, "attention plan: unknown status");
}

void grow(auto& vector, i64 size) {
  if (static_cast<i64>(vector.size()) < size) vector.resize(static_cast<std::size_t>(size));
}

}  // namespace

Capacity bounds_of(const AttentionPlan& plan) {
  const attention::PlanTraits& t = plan.traits;
  i64 units = 0, pieces = 0, split_rows = 0;
  for (const attention::Request& r : plan.requests) {
    const i64 tiles = i64{row_tiles(t, r)} * t.num_kv_heads;
    const i64 cuts = t.fixed_split_kv > 0 ? ceil_div(r.kv_len, t.fixed_split_kv) : 0;
    units += tiles;
    pieces += tiles * (1 + cuts);
    split_rows += tiles * (1 + cuts) * t.tile_rows;
  }
  if (!cuts_line(t)) return {pieces, units, split_rows};
  // Every cut makes one more piece; only units that a cut falls into have partial rows.
  return {units + t.workers, std::min<i64>(units, t.workers), i64{2} * t.workers * t.tile_rows};
}

void make_attention_plan(AttentionPlan& plan, const Capacity* capacity) {
  const attention::PlanTraits& t = plan.traits;
  const Capacity bounds = capacity != nullptr ? *capacity : bounds_of(plan);
  const i64 limit = std::numeric_limits<i32>::max();
  if (bounds.items > limit || bounds.partial_rows > limit) {
    core::fail_argument(operation, "batch", core::join(bounds.items, " work items"),
                        core::join("a batch of up to ", limit, " items and partial rows"));
  }
  const auto count = static_cast<i32>(plan.requests.size());
  plan.items.resize(static_cast<std::size_t>(bounds.items));
  plan.joins.resize(static_cast<std::size_t>(bounds.joins));
  plan.worker_begin.resize(static_cast<std::size_t>(t.workers) + 1);
  grow(plan.scratch_ints_, 2 * bounds.items + t.workers);
  if (!only_cuts(t)) {
    grow(plan.scratch_items_, bounds.items);
    grow(plan.load_, t.workers);
  }
  i32* ints = plan.scratch_ints_.data();
  const AssignScratch scratch{plan.scratch_items_.data(), ints, ints + bounds.items,
                              plan.load_.data(), ints + 2 * bounds.items};
  WorkList list{plan.items.data(), plan.worker_begin.data(), plan.joins.data()};
  require_fit(make_work_list(t, plan.requests.data(), count, bounds, scratch, list), list, bounds);
  if (!prove(t, plan.requests.data(), count, list, ints)) {
    throw Error(ErrorKind::internal, "attention plan: the work list does not cover the problem");
  }
  plan.items.resize(static_cast<std::size_t>(list.item_count));
  plan.joins.resize(static_cast<std::size_t>(list.join_count));
  plan.partial_rows = list.partial_rows;
}

i64 item_cost(const attention::PlanTraits& t, const attention::WorkItem& item) {
  return cost_of(t, item.row_count, kv_tiles(t, item.kv_begin, item.kv_end));
}

std::vector<i64> worker_loads(const AttentionPlan& plan) {
  std::vector<i64> loads(static_cast<std::size_t>(plan.traits.workers));
  for (int w = 0; w < plan.traits.workers; ++w) {
    for (const attention::WorkItem& item : plan.items_of(w)) {
      loads[static_cast<std::size_t>(w)] += item_cost(plan.traits, item);
    }
  }
  return loads;
}

i64 granularity(const AttentionPlan& plan) {
  i64 tile = 0;
  for (const attention::WorkItem& item : plan.items) {
    tile = std::max(tile, cost_of(plan.traits, item.row_count, 1));
  }
  const attention::PlanTraits& t = plan.traits;
  if (t.deal_first == 0 || !cuts_line(t)) return tile;
  return std::max(tile, whole_slack(t, load_bound(plan)));
}

i64 load_bound(const AttentionPlan& plan) {
  const attention::PlanTraits& t = plan.traits;
  i64 total = 0, piece = 0;
  for (const attention::WorkItem& item : plan.items) {
    total += item_cost(t, item);
    piece = std::max(piece, cuts_line(t) ? cost_of(t, item.row_count, 1) : item_cost(t, item));
  }
  return std::max(ceil_div(total, t.workers), piece);
}

std::string to_string(const AttentionPlan& plan) {
  std::ostringstream out;
  for (int w = 0; w < plan.traits.workers; ++w) {
    for (const attention::WorkItem& i : plan.items_of(w)) {
      out << "worker " << w << ": request " << i.request << " head " << i.kv_head << " rows ["
          << i.row_begin << ", " << i.row_begin + i.row_count << ") keys [" << i.kv_begin << ", "
          << i.kv_end << ")";
      if (i.join >= 0) out << " -> partial " << i.partial << ", join " << i.join;
      out << "\n";
    }
  }
  return out.str();
}

}  // namespace wavefire::plan
