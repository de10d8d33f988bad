// Choosing from a row of weights that a group of lanes holds together (tile/row_group.h): as
// in sampling.h, with another schedule.
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

/// Of `count` masses in memory that all lanes see, the one that `uniform` of their sum points at.
/// `before` is the mass of those in front of it, `target` where it points.
template <class Group>
WF_DEVICE int find_mass(const double* masses, int count, double uniform, double& before,
                        double& target) {
  const int most = (count + Group::warp_lanes - 1) / Group::warp_lanes;
  const int first = Group::lane() * most;
  const int own = tile::max(0, tile::min(most, count - first));
  double mass = 0;
  for (int i = 0; i < own; ++i) mass += masses[first + i];
  const double up_to = Group::sum_to_lane(mass);
  target = uniform * Group::from_lane(up_to, Group::warp_lanes - 1);
  const auto reached = Group::ballot(mass > 0 && up_to > target);
  const auto some = Group::ballot(mass > 0);
  const int lane = reached != 0 ? Group::first_of(reached) : Group::last_of(some);
  before = up_to - mass;
  const int chosen = first + walk(own, target, before, [&](int i) { return masses[first + i]; });
  before = Group::from_lane(before, lane & (Group::warp_lanes - 1));
  return Group::from_lane(chosen, lane & (Group::warp_lanes - 1));
}

/// In the warp whose piece it is: the entry at which the running mass of the kept entries exceeds
/// `target`, or their last. `before` is what stands in front of the piece.
template <class Group, class Values>
WF_DEVICE void draw_in_piece(const Values& values, int piece, float threshold, double target,
                             double before, i64& token) {
  bool found = false;
  i64 last = -1;
  const auto see = [&](const auto& v, i64 column) {
    double mass = 0;
    WF_UNROLL
    for (int e = 0; e < Group::width; ++e) {
      if (v.e[e] < threshold || !(v.e[e] > 0.f)) continue;
      mass += double{v.e[e]};
      last = column + e;
    }
    const double running = before + Group::sum_to_lane(mass);
    const auto reached = Group::ballot(running > target && mass > 0);
    found = reached != 0;
    if (found && Group::lane() == Group::first_of(reached)) {
      double sum = running - mass;
      WF_UNROLL
      for (int e = 0; e < Group::width; ++e) {
        if (v.e[e] < threshold || !(v.e[e] > 0.f) || (token >= 0 && sum > target)) continue;
        sum += double{v.e[e]};
        token = column + e;
      }
    }
    before = Group::from_lane(running, Group::warp_lanes - 1);
  };
  values.for_batches(piece, [&](const auto& batch) {
    WF_UNROLL
    for (int i = 0; i < batch.steps; ++i) {
      if (!found) see(batch.v[i], batch.column(i));
    }
  });
  if (found) return;
  last = Group::largest_of_warp(last);
  if (Group::lane() == 0) token = last;
}

/// Calls write(token) in one lane. All blocks have been told the masses of the kept entries.
template <class Group, class Values, class Write>
WF_DEVICE void draw(const Group& group, const Values& values, float threshold, double uniform,
                    Write&& write) {
  constexpr int turn = Group::blocks * Group::warps;
  double before, target;
  const int chosen =
      find_mass<Group>(group.masses(), values.pieces.count * turn, uniform, before, target);
  const int warp = chosen % turn;
  if (warp != Group::block_rank() * Group::warps + Group::warp()) return;
  i64 token = -1;
  draw_in_piece<Group>(values, chosen / turn, threshold, target, before, token);
  if (token >= 0) write(token);
}

/// A value as it is.
struct AsItIs {
  template <class Element>
  WF_DEVICE Element operator()(Element v) const {
    return v;
  }
};

/// A logit as a weight, in units of that of `reference`; a weight as it is.
template <class Group>
struct ToWeight {
  bool is_logit;
  float reference, unit;

  WF_DEVICE typename Group::Element operator()(typename Group::Element v) const {
    using T = tile::ElementTraits<typename Group::Element>;
    return is_logit ? Group::exp2((v - T::splat(reference)) * T::splat(unit)) : v;
  }
  WF_DEVICE float operator()(float a) const {
    using T = tile::ElementTraits<typename Group::Element>;
    return (*this)(T::splat(a)).e[0];
  }
};

WF_NAMESPACE_END
