// What a group of lanes learns of all of a row with one message.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(sampling)

/// Thresholds that are looked for: `low` or above it, and below `high`.
struct Window {
  float low = -tile::infinity, high = tile::infinity;
};

/// The entries of a row, and where they stand to a window. What lies between its ends is listed.
struct Tally {
  double total = 0;
  double above = 0;  // mass of those of at least `high`
  float least = tile::infinity, most = -tile::infinity;
  i32 number_above = 0;
  i32 ties = 0;  // with `low`
  i32 listed = 0;
  i32 longest = 0;  // list of a warp
};
WF_DEVICE Tally join(const Tally& a, const Tally& b) {
  return {a.total + b.total,
          a.above + b.above,
          tile::min(a.least, b.least),
          tile::max(a.most, b.most),
          a.number_above + b.number_above,
          a.ties + b.ties,
          a.listed + b.listed,
          tile::max(a.longest, b.longest)};
}

/// Mass, and extremes.
struct Share {
  double mass = 0;
  float least = tile::infinity, most = -tile::infinity;
};
WF_DEVICE Share join(const Share& a, const Share& b) {
  return {a.mass + b.mass, tile::min(a.least, b.least), tile::max(a.most, b.most)};
}
/// (Templates cannot take an overload set.)
struct Join {
  template <class T>
  WF_DEVICE T operator()(const T& a, const T& b) const {
    return join(a, b);
  }
};

/// Calls tell(piece, mass, least) with what this lane's entries of at least `threshold` weigh in
/// each piece, and the least of all entries up to there. Returns this lane's share.
template <class Group, class Values, class Tell>
WF_DEVICE Share weigh_pieces(const Values& values, float threshold, Tell&& tell) {
  Share mine;
  for (int piece = 0; piece < values.pieces.count; ++piece) {
    double mass = 0;
    values.for_batches(piece, [&](const auto& batch) {
      batch.for_values([&](float a) {
        if (!(a < threshold)) mass += double{a};  // NaN too
        mine.least = Group::smaller(a, mine.least);
      });
    });
    mine.mass += mass;
    tell(piece, mass, mine.least);
  }
  return mine;
}
/// Tells all blocks what the pieces' entries of at least `threshold` weigh. Returns this lane's
/// share.
template <class Group, class Values>
WF_DEVICE Share tell_masses(const Group& group, const Values& values, float threshold) {
  return weigh_pieces<Group>(values, threshold, [&](int piece, double mass, float) {
    group.tell_mass(piece, Group::sum_of_warp(mass));
  });
}

WF_NAMESPACE_END
