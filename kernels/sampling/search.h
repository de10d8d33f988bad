// Thresholds of filters, found by a group of lanes that holds a row together.
//
// The floats from the least to the most possible threshold are divided, in the order of their bits,
// into bins. The group adds up what lies in each, learns in which one the threshold is, and
// divides that one again. Behind the first division few values are candidates still, and every warp
// lists its own; when they are no more than the lanes of a block, each lane weighs one. Sums are in
// double precision and in a fixed order, the same at each run.
#pragma once

#include "sampling/filter.h"
#include "sampling/share.h"

WF_NAMESPACE_BEGIN(sampling)

/// Keys (order_of) from `least` to `to`, in bins of 2^shift keys from `from` on; the first bin has
/// those before it, too.
struct KeyRange {
  u32 least, from, to;
  int shift;

  WF_DEVICE bool contains(u32 key) const { return key - least <= to - least; }
  WF_DEVICE int bin(u32 key) const {
    return key < from ? 0 : static_cast<int>((key - from) >> shift);
  }
  WF_DEVICE u32 first_of(int bin) const {
    return bin == 0 ? least : from + (static_cast<u32>(bin) << shift);
  }
  WF_DEVICE u32 last_of(int bin) const {
    const u32 last = from + (static_cast<u32>(bin) << shift) + ((1u << shift) - 1);
    return last < to ? last : to;
  }
  WF_DEVICE bool is_one() const { return least == to; }
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
    const int before = count_;
    count_ = 0;
    if (listed_) {
      WF_NO_UNROLL
      for (int i = 0; i < before; i += Group::warp_lanes) {
        const bool is_there = i + Group::lane() < before;
        const float a = is_there ? list_[i + Group::lane()] : 0.f;
        Group::warp_sync();  // read before it is written anew
        append(a, is_there && range.contains(order_of(a)));
      }
    } else {
      values_.for_steps([&](int, const auto& v) {
        WF_UNROLL
        for (float a : v.e) append(a, range.contains(order_of(a)));
      });
      listed_ = count_ <= Group::list_size;
    }
    Group::warp_sync();
  }
  /// How many the warp has, listed or not.
  WF_DEVICE int count() const { return count_; }
  WF_DEVICE float operator[](int i) const { return list_[i]; }

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
  WF_DEVICE GroupSearch(Group& group, typename Group::SearchMemory& memory, const Values& values)
      : group_(group), memory_(memory), bins_(memory), values_(values) {}

  WF_DEVICE float threshold_of(Amount what, float least, float most, double amount) {
    Candidates<Group, Values> candidates(values_, memory_.listed[Group::warp()]);
    KeyRange range = divided(order_of(least), order_of(most));
    // The largest are near each other: bins of a quarter of an octave.
    constexpr int quarter = 21;
    if (what == Amount::number && range.shift > quarter) {
      range.shift = quarter;
      range.from = range.to - (static_cast<u32>(Group::bins) << quarter) + 1;
    }
    double above = 0;  // number or mass of the entries above the range
    for (int round = 0;; ++round) {
      candidates.for_each([&](float a) {
        const u32 key = order_of(a);
        if (range.contains(key)) bins_.add(range.bin(key), what == Amount::mass ? double{a} : 1.0);
      });
      const double suffix = above + Group::sum_from_lane(bins_.take());  // from bin lane() on
      const int bin = Group::last_of(Group::ballot(suffix >= amount));
      if (bin < 0) return least;  // not even all of them reach it
      if (bin + 1 < Group::warp_lanes) above = Group::from_lane(suffix, bin + 1);
      range = divided(range.first_of(bin), range.last_of(bin));
      if (range.is_one()) return from_order(range.least);
      candidates.narrow(range);
      if (round == 0 && what == Amount::mass) continue;  // there are many still
      const Share mine{0, 0.f, Group::lane() == 0 ? candidates.count() : 0};
      const int all = group_.reduce(mine, join).count;
      if (all <= Group::lanes) return weigh(candidates, all, what, above, amount, range);
    }
  }
  WF_DEVICE double mass_of(float threshold) { return kept(group_, values_, threshold).mass; }

 private:
  WF_DEVICE static KeyRange divided(u32 least, u32 to) {
    int shift = 0;
    while ((to - least) >> shift >= static_cast<u32>(Group::bins)) ++shift;
    return {least, least, to, shift};
  }

  /// The threshold among `all` candidates, whose numbers were the last message.
  WF_DEVICE float weigh(const Candidates<Group, Values>& candidates, int all, Amount what,
                        double above, double amount, const KeyRange& range) {
    int first = 0;
    for (int i = 0; i < Group::block_rank(); ++i) {
      first += group_.template block_part<Share>(i).count;
    }
    for (int i = 0; i < Group::warp(); ++i) first += group_.template warp_part<Share>(i).count;
    WF_NO_UNROLL
    for (int i = Group::lane(); i < candidates.count(); i += Group::warp_lanes) {
      Group::gather(memory_, first + i, candidates[i]);
    }
    Group::sync();
    Share mine;
    const int own = Group::thread() * Group::blocks + Group::block_rank();
    if (own < all) {
      const float candidate = memory_.gathered[own];
      double sum = above;
      for (int i = 0; i < all; ++i) {
        const float a = memory_.gathered[i];
        if (candidate <= a) sum += what == Amount::mass ? double{a} : 1.0;
      }
      if (sum >= amount) mine.maximum = candidate;
    }
    const float threshold = group_.reduce(mine, join).maximum;
    return tile::max(threshold, from_order(range.least));  // rounding: all of them
  }

  Group& group_;
  typename Group::SearchMemory& memory_;
  typename Group::Bins bins_;
  const Values& values_;
};

WF_NAMESPACE_END
