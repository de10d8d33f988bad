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

/// Where a random number points to, of pieces that weigh `total`: to `target`, in `piece`. `before`
/// is the mass of those in front of it.
struct Pointed {
  int piece;
  double before, target, total;
};

/// Of `count` masses in memory that all lanes see, the one that `uniform` of their sum points at.
template <class Group>
WF_DEVICE Pointed find_mass(const double* masses, int count, double uniform) {
  const int most = (count + Group::warp_lanes - 1) / Group::warp_lanes;
  const int first = Group::lane() * most;
  const int own = tile::max(0, tile::min(most, count - first));
  double mass = 0;
  for (int i = 0; i < own; ++i) mass += masses[first + i];
  const double up_to = Group::sum_to_lane(mass);
  const double total = Group::from_lane(up_to, Group::warp_lanes - 1), target = uniform * total;
  const auto reached = Group::ballot(mass > 0 && up_to > target);
  const auto some = Group::ballot(mass > 0);
  const int lane = reached != 0 ? Group::first_of(reached) : Group::last_of(some);
  double before = up_to - mass;
  const int chosen = first + walk(own, target, before, [&](int i) { return masses[first + i]; });
  const int from = lane & (Group::warp_lanes - 1);
  return {Group::from_lane(chosen, from), Group::from_lane(before, from), target, total};
}

/// In one warp: the entry at which the running mass of the kept entries exceeds the target, or
/// their last, with its weight. One lane gets it; without any, none does.
template <class Group, class Values>
WF_DEVICE void draw_in_piece(const Values& values, const Pointed& at, float threshold, i64& token,
                             float& weight) {
  const double target = at.target;
  double before = at.before;
  bool found = false;
  i64 last = -1;
  float last_weight = 0.f;
  const auto see = [&](const auto& v, i64 column) {
    double mass = 0;
    WF_UNROLL
    for (int e = 0; e < Group::width; ++e) {
      if (v.e[e] < threshold || !(v.e[e] > 0.f)) continue;
      mass += double{v.e[e]};
      last = column + e;
      last_weight = v.e[e];
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
        weight = v.e[e];
      }
    }
    before = Group::from_lane(running, Group::warp_lanes - 1);
  };
  values.for_batches_of(at.piece, [&](const auto& batch) {
    WF_UNROLL
    for (int i = 0; i < batch.steps; ++i) {
      if (!found) see(batch.v[i], batch.column(i));
    }
  });
  if (found) return;
  if (last < Group::largest_of_warp(last)) return;
  token = last;
  weight = last_weight;
}

/// Calls write(token) in one lane. All blocks have been told the masses of the kept entries.
template <class Group, class Values, class Write>
WF_DEVICE void draw(const Group& group, const Values& values, float threshold, double uniform,
                    Write&& write) {
  constexpr int turn = Group::blocks * Group::warps;
  const Pointed at = find_mass<Group>(group.masses(), values.pieces.count * turn, uniform);
  if (at.piece % turn != values.pieces.number(0)) return;
  i64 token = -1;
  float weight;
  draw_in_piece<Group>(values, at, threshold, token, weight);
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
