// Thresholds of filters, found by a group of lanes that holds a row together.
//
// The floats from the least to the most possible threshold are divided, in the order of their bits,
// into 32 bins. The group adds up what lies in each, learns in which one the threshold is, and
// divides that one again: at most seven times. Behind the first division few values are candidates
// still, and every warp lists its own. Sums are in double precision and in a fixed order, the same
// at each run.
#pragma once

#include "sampling/filter.h"
#include "sampling/share.h"

WF_NAMESPACE_BEGIN(sampling)

/// Keys (order_of) from `from` to `to`, as 32 bins or fewer of 2^shift keys.
struct KeyRange {
  u32 from, to;
  int shift;

  WF_DEVICE bool contains(u32 key) const { return key - from <= to - from; }
  WF_DEVICE int bin(u32 key) const { return static_cast<int>((key - from) >> shift); }
  WF_DEVICE u32 first_of(int bin) const { return from + (static_cast<u32>(bin) << shift); }
  WF_DEVICE u32 last_of(int bin) const {
    const u32 last = first_of(bin) + ((1u << shift) - 1);
    return last < to ? last : to;
  }
};

/// Those of a row's values that a threshold may be among.
template <class Group, class Values>
class Candidates {
 public:
  /// `list` has room for Group::list_size values of the warp's.
  WF_DEVICE Candidates(const Values& values, float* list) : values_(values), list_(list) {}

  /// Calls f(value) for this lane's candidates and, as long as there is no list, all its others.
  template <class F>
  WF_DEVICE void for_each(F&& f) const {
    if (listed_) {
      WF_NO_UNROLL
      for (int i = Group::lane(); i < count_; i += Group::warp_lanes) f(list_[i]);
    } else {
      values_.for_steps([&](int, const auto& v) {
        WF_UNROLL
        for (float a : v.e) f(a);
      });
    }
  }
  /// Those in `range` are candidates: they are listed, unless they are too many.
  WF_DEVICE void narrow(const KeyRange& range) {
    if (listed_) return;
    count_ = 0;
    values_.for_steps([&](int, const auto& v) {
      WF_UNROLL
      for (float a : v.e) append(a, range.contains(order_of(a)));
    });
    listed_ = count_ <= Group::list_size;
    Group::warp_sync();
  }

 private:
  WF_DEVICE void append(float a, bool is_candidate) {
    const u32 all = Group::ballot(is_candidate);
    if (all == 0) return;
    const int at = count_ + Group::count_before(all);
    if (is_candidate && at < Group::list_size) list_[at] = a;
    count_ += Group::count_of(all);
  }

  const Values& values_;
  float* list_;
  int count_ = 0;
  bool listed_ = false;
};

/// What filter_threshold asks, of the row that `values` hold.
template <class Group, class Values>
class GroupSearch {
 public:
  WF_DEVICE GroupSearch(Group& group, typename Group::Memory& memory, const Values& values)
      : group_(group), bins_(memory), list_(memory.listed[Group::warp()]), values_(values) {}

  WF_DEVICE float threshold_of(Amount what, float least, float most, double amount) {
    Candidates<Group, Values> candidates(values_, list_);
    KeyRange range = divided(order_of(least), order_of(most));
    double above = 0;  // number or mass of the entries above the range
    for (;;) {
      candidates.for_each([&](float a) {
        const u32 key = order_of(a);
        if (range.contains(key)) bins_.add(range.bin(key), what == Amount::mass ? double{a} : 1.0);
      });
      const double suffix = above + Group::sum_from_lane(bins_.take());  // from bin lane() on
      const int bin = Group::last_of(Group::ballot(suffix >= amount));
      if (bin < 0) return least;  // not even all of them reach it
      if (bin + 1 < Group::warp_lanes) above = Group::from_lane(suffix, bin + 1);
      if (range.shift == 0) return from_order(range.first_of(bin));
      range = divided(range.first_of(bin), range.last_of(bin));
      candidates.narrow(range);
    }
  }
  WF_DEVICE double mass_of(float threshold) { return kept(group_, values_, threshold).mass; }

 private:
  WF_DEVICE static KeyRange divided(u32 from, u32 to) {
    return {from, to, tile::max(Group::last_of(to - from) - 4, 0)};
  }

  Group& group_;
  typename Group::Bins bins_;
  float* list_;
  const Values& values_;
};

WF_NAMESPACE_END
