// Plans with their memory: vectors around the planner's core (kernels/plan).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/work_list.h"

namespace wavefire::plan {

/// A work list and everything it points to. Reused from plan to plan, it allocates only to grow.
struct AttentionPlan {
  attention::PlanTraits traits;
  std::vector<attention::Request> requests;
  std::vector<attention::WorkItem> items;
  std::vector<i32> worker_begin;  // [workers + 1]
  std::vector<attention::Join> joins;
  std::int64_t partial_rows = 0;

  std::span<const attention::WorkItem> items_of(int worker) const {
    return std::span(items).subspan(
        static_cast<std::size_t>(worker_begin[worker]),
        static_cast<std::size_t>(worker_begin[worker + 1] - worker_begin[worker]));
  }

 private:
  friend void make_attention_plan(AttentionPlan& plan, const Capacity* capacity);
  std::vector<attention::WorkItem> scratch_items_;
  std::vector<i32> scratch_ints_;
  std::vector<i64> load_;
};

/// Plans for `plan.requests` and `plan.traits`; the rest of `plan` is the result. With a `capacity`
/// (of buffers that a captured graph fixed) a plan that does not fit throws `Error`
/// (invalid_argument) that names the capacity. Throws `Error` (internal) should the proof fail.
void make_attention_plan(AttentionPlan& plan, const Capacity* capacity = nullptr);

/// Upper bounds of what `plan.requests` and `plan.traits` can need. They do not depend on the
/// lengths of KV, unless `fixed_split_kv` is set.
Capacity bounds_of(const AttentionPlan& plan);

/// Cost of an item, and the load of every worker, in the planner's unit.
i64 item_cost(const attention::PlanTraits& traits, const attention::WorkItem& item);
std::vector<i64> worker_loads(const AttentionPlan& plan);

/// The larger of the mean load and the largest piece that cannot be split: no list does better. A
/// list is at most `granularity` above it where units may be cut: one KV tile of one item, or what
/// whole units may cost more than cuts. So it is within 1.1 times the bound as soon as a worker has
/// ten tiles.
i64 load_bound(const AttentionPlan& plan);
i64 granularity(const AttentionPlan& plan);

/// One line an item: "worker 0: request 1 head 0 rows [0, 4) keys [0, 128) -> partial 8, join 2".
std::string to_string(const AttentionPlan& plan);

}  // namespace wavefire::plan
