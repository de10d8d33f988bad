// Where a threshold will lie, from a sample of the row: a window that has it, as a rule, and few
// other entries. Nothing depends on its being right: what the whole row amounts to above the window
// and in it is measured.
#pragma once

#include "sampling/filter.h"
#include "sampling/share.h"

WF_NAMESPACE_BEGIN(sampling)

/// Elements from all over a row that the lanes of a block have together, the same in each block.
template <class Group>
struct Sample {
  typename Group::Element elements[Group::sampled];
  int number;  // of all lanes
  float most;  // value

  template <class Values>
  WF_DEVICE Sample(Group& group, const Values& values) {
    number = values.sample(elements);
    Share mine;
    WF_UNROLL
    for (const auto& v : elements) {
      WF_UNROLL
      for (float a : v.e) mine.most = Group::larger(a, mine.most);
    }
    most = group.template reduce<tile::Reach::block>(mine, Join{}).most;
  }
  /// The same of the mapped values, for a map that keeps their order.
  template <class Map>
  WF_DEVICE void apply(Map map) {
    WF_UNROLL
    for (auto& v : elements) v = map(v);
    most = map(most);
  }
};

/// Of the entries in some bins: how many they are, and sums of their weights and squares, in units
/// of the largest.
struct Moments {
  float number = 0, mass = 0, square = 0;
};
WF_DEVICE Moments operator+(const Moments& a, const Moments& b) {
  return {a.number + b.number, a.mass + b.mass, a.square + b.square};
}

/// The sample in bins of 1/32 octave, downwards from its largest entry. What is below the last bin
/// counts for nothing.
template <class Group>
class Forecast {
  static constexpr int bins = Group::sample_bins, own = bins / Group::lanes, shift = 18;

 public:
  /// Standard deviations to each side: wrong for one row in ten thousand, or in eight.
  static constexpr float safe = 4, daring = 1.5f;

  /// Of a row of `size` entries and a sample of it, `counts` being room in shared memory.
  WF_DEVICE Forecast(Group& group, u32 (&counts)[bins], i64 size, const Sample<Group>& sample)
      : group_(group), counts_(counts) {
    const float most = sample.most;
    const u32 top = order_of(most), span = u32{bins - 1} << shift;
    from_ = top > span ? top - span : 0;
    unit_ = most;
    share_ = static_cast<float>(sample.number) * Group::width / static_cast<float>(size);
    Group::template sync<tile::Reach::block>();  // what was there is not needed any more
    WF_UNROLL
    for (int i = 0; i < own; ++i) counts_[i * Group::lanes + Group::thread()] = 0;
    Group::template sync<tile::Reach::block>();
    WF_UNROLL
    for (const auto& v : sample.elements) {
      WF_UNROLL
      for (float a : v.e) {
        const u32 key = order_of(a) - from_;
        if (key < u32{bins} << shift) Group::add_one(&counts_[key >> shift]);
      }
    }
    Group::template sync<tile::Reach::block>();
    WF_UNROLL
    for (int i = 0; i < own; ++i) own_[i] = counts_[Group::thread() * own + i];
    sum_up();
  }
  /// What the row weighs, about.
  WF_DEVICE double total() const { return double{all_.mass} / share_ * unit_; }

  /// A window of the threshold at which entries amount to that, of a row that weighs `total`.
  WF_DEVICE Window window(Amount what, double amount, double total, float deviations = safe) {
    const float need = static_cast<float>(amount) * share_;
    const float slack = deviations * tile::sqrt(need) + deviations;
    const float allowed = static_cast<float>((total - amount) / unit_) * share_;  // below it
    Range mine{-1, bins};
    Moments below = before_;
    WF_UNROLL
    for (int i = 0; i < own; ++i) {
      const int bin = Group::thread() * own + i;
      const float from_here = all_.number - below.number;
      const float left = allowed - below.mass;
      const bool is_far = left * left >= deviations * deviations * below.square;
      const bool is_low = what == Amount::number ? from_here >= need + slack
                                                 : left >= 0 && is_far && from_here >= 2 * safe;
      const bool is_high = what == Amount::number ? from_here <= need - slack : left < 0 && is_far;
      if (is_low) mine.low = bin;
      if (is_high) mine.high = tile::min(mine.high, bin);
      below = below + moments_of(i);
    }
    const Range found = group_.template reduce<tile::Reach::block>(mine, [](Range a, Range b) {
      return Range{tile::max(a.low, b.low), tile::min(a.high, b.high)};
    });
    Window window;
    if (found.low >= 0) window.low = first_of(found.low);
    if (found.high > found.low && found.high < bins) window.high = first_of(found.high);
    return window;
  }

 private:
  struct Range {
    int low, high;
  };

  WF_DEVICE float first_of(int bin) const {
    return from_order(from_ + (static_cast<u32>(bin) << shift));
  }
  /// Of the lane's bin i, as if all its entries were in the middle.
  WF_DEVICE Moments moments_of(int i) const {
    const u32 bin = static_cast<u32>(Group::thread() * own + i);
    const float number = static_cast<float>(own_[i]);
    const float mass = from_order(from_ + (bin << shift) + (1u << (shift - 1))) / unit_;
    return {number, number * mass, number * mass * mass};
  }
  /// Moments of all bins, and of those before this lane's.
  WF_DEVICE void sum_up() {
    Moments mine;
    WF_UNROLL
    for (int i = 0; i < own; ++i) mine = mine + moments_of(i);
    const auto plus = [](const Moments& a, const Moments& b) { return a + b; };
    all_ = group_.template reduce<tile::Reach::block>(mine, plus);
    Moments earlier;  // of warps before this one
    if (Group::lane() < Group::warp()) earlier = group_.template warp_part<Moments>(Group::lane());
    before_ = Group::join_warp(earlier, plus) + Group::sum_before_lane(mine);
  }

  Group& group_;
  u32 (&counts_)[bins];
  u32 own_[own];  // of this lane's bins
  u32 from_ = 0;
  float unit_ = 1.f;
  float share_ = 1.f;  // of the row that was sampled
  Moments all_, before_;
};

WF_NAMESPACE_END
