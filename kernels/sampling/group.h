// Choosing from a row of weights that a group of lanes holds together (tile/<arch>/row_group.h): as
// in sampling.h, with another schedule. The row is read once; the lanes keep it, if it fits.
#pragma once

#include "sampling/search.h"

WF_NAMESPACE_BEGIN(sampling)

/// Walks over shares until their sum exceeds `target`: the number of that one, or of the last that
/// has mass. `before` is the mass of those in front of it.
template <class MassOf>
WF_DEVICE int walk(int shares, double target, double& before, MassOf&& mass_of) {
  int chosen = 0;
  double running = before;
  for (int i = 0; i < shares && !(running > target); ++i) {
    const double mass = mass_of(i);
    if (!(mass > 0)) continue;
    chosen = i;
    before = running;
    running += mass;
  }
  return chosen;
}

/// In the warp whose segment has it: the entry at which the running mass of the kept entries
/// exceeds `target`, or their last. `before` is what stands in front of the segment.
template <class Group, class Values>
WF_DEVICE void draw_in_segment(const Values& values, float threshold, double target, double before,
                               i64& token) {
  bool found = false;
  i64 last = -1;
  values.for_steps([&](int i, const auto& v) {
    if (found) return;
    double mass = 0;
    WF_UNROLL
    for (int e = 0; e < Group::width; ++e) {
      if (v.e[e] < threshold || !(v.e[e] > 0.f)) continue;
      mass += double{v.e[e]};
      last = values.segment.column(i) + e;
    }
    const double running = before + Group::sum_to_lane(mass);
    const u32 reached = Group::ballot(running > target && mass > 0);
    found = reached != 0;
    if (found && Group::lane() == Group::first_of(reached)) {
      double sum = running - mass;
      WF_UNROLL
      for (int e = 0; e < Group::width; ++e) {
        if (v.e[e] < threshold || !(v.e[e] > 0.f) || (token >= 0 && sum > target)) continue;
        sum += double{v.e[e]};
        token = values.segment.column(i) + e;
      }
    }
    before = Group::from_lane(running, Group::warp_lanes - 1);
  });
  if (found) return;
  last = Group::largest_of_warp(last);
  if (Group::lane() == 0) token = last;
}

/// Calls write(token) in one lane. The last message was the kept entries' masses, `total` in all.
template <class Group, class Values, class Write>
WF_DEVICE void draw(const Group& group, const Values& values, float threshold, double total,
                    double uniform, Write&& write) {
  const double target = uniform * total;
  double before = 0;
  const int block = walk(Group::blocks, target, before,
                         [&](int i) { return group.template block_part<Share>(i).mass; });
  if (block != Group::block_rank()) return;
  const int warp = walk(Group::warps, target, before,
                        [&](int i) { return group.template warp_part<Share>(i).mass; });
  if (warp != Group::warp()) return;
  i64 token = -1;
  draw_in_segment<Group>(values, threshold, target, before, token);
  if (token >= 0) write(token);
}

/// A value as it is.
struct AsItIs {
  template <class Element>
  WF_DEVICE Element operator()(Element v) const {
    return v;
  }
};

/// A logit as a weight.
template <class Group>
struct ToWeight {
  float maximum, unit;

  WF_DEVICE typename Group::Element operator()(typename Group::Element v) const {
    using T = tile::ElementTraits<typename Group::Element>;
    return Group::exp2((v - T::splat(maximum)) * T::splat(unit));
  }
};

WF_NAMESPACE_END
