// The kernel: a worker goes through its part of the work list.
#pragma once

#include "attention/steps.h"
#include "attention/write.h"

WF_NAMESPACE_BEGIN(attention)

/// The part of an item that belongs to head `head` of its bundle.
WF_DEVICE WorkItem item_of_head(const Params& p, WorkItem item, i32 head) {
  item.kv_head = item.kv_head * p.heads_per_item + head;
  if (item.partial >= 0) item.partial = item.partial * p.heads_per_item + head * item.row_count;
  return item;
}

/// The same in every lane of a wave, and for compilers that need to be told, known to be.
template <class Arch>
WF_DEVICE i32 uniform(i32 a) {
  if constexpr (requires { Arch::uniform(a); }) return Arch::uniform(a);
  return a;
}
template <class Arch>
WF_DEVICE WorkItem uniform(WorkItem item) {
  i32* const fields[] = {&item.request,  &item.kv_head, &item.row_begin, &item.row_count,
                         &item.kv_begin, &item.kv_end,  &item.partial,   &item.join};
  WF_UNROLL
  for (i32* field : fields) *field = uniform<Arch>(*field);
  return item;
}

template <class Schedule, class Steps>
WF_DEVICE const WorkItem& item_at(const Params& p, i32 at, Steps& steps) {
  if constexpr (requires { Schedule::take_item(steps); }) return Schedule::take_item(steps);
  return p.items[at];
}

/// Executes all items of `worker` in the order of steps that `Schedule` gives. `steps` is one
/// `Steps`, or a `Bundle` of them for schedules that take several heads together.
template <class Arch, class Schedule, class Steps>
WF_DEVICE void attend(const Params& p, i32 worker, Steps& steps) {
  const i32 end = uniform<Arch>(p.worker_begin[worker + 1]);
  for (i32 at = uniform<Arch>(p.worker_begin[worker]); at < end; ++at) {
    const WorkItem item = uniform<Arch>(item_at<Schedule>(p, at, steps));
    Schedule::run(steps, item);
    if constexpr (requires { requires Schedule::only_loads; }) continue;
    if (item.join < 0) continue;
    const Join join = p.joins[item.join];
    // The last arriver joins; nobody waits. It leaves the counter at zero for the next launch.
    if (!Arch::arrive_last(p.join_arrivals + item.join, join.parts)) continue;
    for (i32 head = 0; head < p.heads_per_item; ++head) merge_parts<Arch>(p, join, head);
  }
}

/// Several heads of one request side by side.
template <class Steps>
struct Bundle {
  const Params& params;
  Steps* steps;  // [heads_per_item]

  WF_DEVICE i32 heads() const { return params.heads_per_item; }
  WF_DEVICE WorkItem item(const WorkItem& whole, i32 head) const {
    return item_of_head(params, whole, head);
  }
};

WF_NAMESPACE_END
