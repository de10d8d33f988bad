// The kernel: a worker goes through its part of the work list.
#pragma once

#include "attention/steps.h"
#include "attention/write.h"

WF_NAMESPACE_BEGIN(attention)

/// Executes all items of `worker`. `shared` is the team's memory, `Schedule` the order of the
/// steps.
template <class Arch, Config config, class Schedule>
WF_DEVICE void attend(const LaunchParams<typename Arch::Tail>& p, i32 worker,
                      Steps<Arch, config>& steps) {
  for (i32 at = p.worker_begin[worker]; at < p.worker_begin[worker + 1]; ++at) {
    const WorkItem item = p.items[at];
    Schedule::run(steps, item);
    steps.end_item();
    if (item.join < 0 || !Arch::computes()) continue;
    const Join join = p.joins[item.join];
    // The last arriver joins; nobody waits. It leaves the counter at zero for the next launch.
    if (Arch::arrive_last(p.join_arrivals + item.join, join.parts)) merge_parts<Arch>(p, join);
  }
}

WF_NAMESPACE_END
