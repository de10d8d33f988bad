// What a group of lanes that holds a row learns of all of it.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(sampling)

/// What a group learns of its row with one message.
struct Share {
  double mass = 0;
  float maximum = -tile::infinity;
  i32 count = 0;
};
WF_DEVICE Share join(Share a, Share b) {
  return {a.mass + b.mass, tile::max(a.maximum, b.maximum), a.count + b.count};
}

template <class Element>
WF_DEVICE double wide_sum(const Element& v) {
  double sum = 0;
  WF_UNROLL
  for (float a : v.e) sum += double{a};
  return sum;
}

/// Adds to a lane's share: the mass of a value's, the largest of them, and how many are less than
/// `floor` or NaN.
template <class Element>
WF_DEVICE void add_mass(Share& share, const Element& v) {
  share.mass += wide_sum(v);
}
template <class Element>
WF_DEVICE void add_range(Share& share, const Element& v, float floor) {
  WF_UNROLL
  for (float a : v.e) {
    share.maximum = tile::max(a, share.maximum);
    if (!(floor <= a)) ++share.count;
  }
}

/// The mass of the entries of at least `threshold`.
template <class Group, class Values>
WF_DEVICE Share kept(Group& group, const Values& values, float threshold) {
  Share mine;
  values.for_steps([&](int, const auto& v) {
    WF_UNROLL
    for (float a : v.e) {
      if (threshold <= a) mine.mass += double{a};
    }
  });
  return group.reduce(mine, join);
}

WF_NAMESPACE_END
