// Thresholds of filters, found by a group of lanes that holds a row together.
//
// One pass over the row lists the entries in a window that a sample of it foretells (forecast.h)
// and measures what lies above. With that it is proven whether the threshold is in the window. If
// so, every block gets the list and divides it: the possible thresholds, in the order of their
// bits, into bins; the group adds up what lies in each, learns in which one the threshold is, and
// divides that one again, until a warp can weigh each of the few that are left. If the forecast was
// wrong, the whole row is divided in the same way. Sums are in double precision and in a fixed
// order, the same at each run.
#pragma once

#include "sampling/forecast.h"

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
  /// In as few keys a bin as `bins` allow.
  WF_DEVICE static KeyRange divided(u32 least, u32 to, u32 bins) {
    int shift = 0;
    while ((to - least) >> shift >= bins) ++shift;
    return {least, least, to, shift};
  }
};

/// Those of a row's values that a threshold may be among, a warp's share of them.
template <class Group, class Values>
class Candidates {
 public:
  /// `list` has room for `room` values; the first `count` of them are the candidates, if `listed`.
  WF_DEVICE Candidates(const Values& values, float* list, int room, int count, bool listed)
      : values_(values), list_(list), room_(room), count_(count), listed_(listed) {}

  /// Calls f(value) for this lane's candidates and, as long as there is no list, all its others.
  template <class F>
  WF_DEVICE void for_each(F&& f) const {
    if (listed_) {
      WF_NO_UNROLL
      for (int i = Group::lane(); i < count_; i += Group::warp_lanes) f(list_[i]);
    } else {
      values_.for_batches([&](const auto& batch) { batch.for_values(f); });
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
      values_.for_batches([&](const auto& batch) {
        batch.for_values([&](float a) { append(a, range.contains(order_of(a))); });
      });
      listed_ = count_ <= room_;
    }
    Group::warp_sync();
  }
  /// How many the warp has, listed or not.
  WF_DEVICE int count() const { return count_; }
  WF_DEVICE float operator[](int i) const { return list_[i]; }

 private:
  WF_DEVICE void append(float a, bool is_candidate) {
    const auto all = Group::ballot(is_candidate);
    if (all == 0) return;
    const int at = count_ + Group::count_before(all);
    if (is_candidate && at < room_) list_[at] = a;
    count_ += Group::count_of(all);
  }

  const Values& values_;
  float* list_;
  int room_, count_;
  bool listed_;
};

/// The values behind a list that stands alone.
struct NoValues {
  template <class F>
  WF_DEVICE void for_batches(F&&) const {}
};

/// What filter_threshold asks, of the row that `values` hold: weights or, unless `weighs`, logits.
template <class Group, class Values, bool weighs>
class GroupSearch {
  using Reach = tile::Reach;
  using Memory = typename Group::SearchMemory;

 public:
  WF_DEVICE GroupSearch(Group& group, Memory& memory, const Values& values)
      : group_(group), memory_(memory), bins_(memory), values_(values) {}

  /// The pass over the row. `total`: what the row weighs, if it is as it should be; 0: unknown. The
  /// tally's total is the number of NaNs unless the search weighs.
  WF_DEVICE const Tally& first_pass(const Filter& filter, const Sample<Group>& sample,
                                    double total) {
    Window window{0.f, 0.f};  // no filter: all are above it
    if (filter.top_k > 0 && filter.top_k < size()) {
      is_exact_ = true;
      listed_for_ = Amount::number;
      window = forecast(sample).window(listed_for_, static_cast<double>(filter.top_k), 0);
    } else if (filter.top_p < 1) {
      listed_for_ = Amount::mass;
      Forecast<Group> forecast = this->forecast(sample);
      if (!(total > 0)) total = forecast.total();
      window = forecast.window(listed_for_, filter.top_p * total, total);
    } else if (filter.min_p > 0.f) {
      window = {from_order(order_of(filter.min_p * sample.most) - 1), tile::infinity};
    }
    list(window);
    return tally_;
  }

  WF_DEVICE float threshold_of(Amount what, float least, float most, double amount) {
    float threshold = least, deviations = Forecast<Group>::safe;
    WF_NO_UNROLL
    for (;;) {
      if (find_in_list(what, least, amount, threshold)) return threshold;
      if (is_exact_ && what == listed_for_) {
        if (is_complete_ || deviations < Forecast<Group>::safe) break;
        deviations = Forecast<Group>::daring;  // fewer entries
      }
      is_exact_ = true;
      listed_for_ = what;
      const Sample<Group> sample(group_, values_);
      list(forecast(sample).window(what, amount, tally_.total, deviations));
    }
    return find_in_row(what, least, most, amount);
  }
  /// Of the entries of at least `threshold`.
  WF_DEVICE double mass_of(float threshold) {
    tell_masses(threshold);
    Group::sync();
    const int own = values_.pieces.count * Group::blocks * Group::warps;
    double sum = 0;
    for (int i = Group::lane(); i < own; i += Group::warp_lanes) sum += group_.masses()[i];
    return Group::sum_of_warp(sum);
  }
  /// Tells all blocks what the pieces' entries of at least `threshold` weigh.
  WF_DEVICE void tell_masses(float threshold) {
    if (has_told_) Group::sync();  // what was told has been read
    has_told_ = true;
    const bool is_listed =
        is_complete_ && threshold <= window_.high &&
        (threshold > window_.low || (threshold == window_.low && tally_.ties == 0));
    if (!is_listed) {
      sampling::tell_masses(group_, values_, threshold);
      return;
    }
    int begin = 0;
    for (int piece = 0; piece < values_.pieces.count; ++piece) {
      const int end = memory_.ends[Group::warp()][piece];
      double mass = 0;
      for (int i = begin + Group::lane(); i < end; i += Group::warp_lanes) {
        const float a = memory_.listed[Group::warp()][i];
        if (threshold <= a) mass += double{a};
      }
      group_.tell_mass(piece, memory_.above[Group::warp()][piece] + Group::sum_of_warp(mass));
      begin = end;
    }
  }

 private:
  WF_DEVICE i64 size() const { return values_.pieces.size; }
  WF_DEVICE Forecast<Group> forecast(const Sample<Group>& sample) {
    return {group_, memory_.sample, size(), sample};
  }
  /// Lists what is in the window, piece by piece, and measures the row.
  WF_DEVICE void list(const Window& window) {
    if (has_gathered_) Group::sync();  // what was gathered has been read
    has_gathered_ = false;
    window_ = {weighs ? tile::max(window.low, 0.f) : window.low, window.high};
    Tally mine;
    int count = 0;
    for (int piece = 0; piece < values_.pieces.count; ++piece) {
      double above = 0;
      values_.for_batches(piece,
                          [&](const auto& batch) { count = append(batch, count, above, mine); });
      mine.above += above;
      above = Group::sum_of_warp(above);
      if (Group::lane() == 0) {
        memory_.above[Group::warp()][piece] = above;
        memory_.ends[Group::warp()][piece] = count;
      }
    }
    mine.listed = Group::lane() == 0 ? count : 0;
    mine.longest = count;
    tally_ = group_.reduce(mine, Join{});
    is_complete_ = tally_.longest <= Group::list_size && tally_.listed <= Group::gathered_size;
    first_ = group_.template count_before_warp<Reach::group, Tally>(
        [](const Tally& part) { return part.listed; });
    count_ = count;
  }
  /// Adds a batch to the tally, and to the warp's list of `count` values; returns how many it is.
  /// (A value's share of the row's time is this: no branches.)
  template <class Batch>
  WF_DEVICE int append(const Batch& batch, int count, double& above, Tally& mine) const {
    batch.for_values([&](float a) {
      const double wide = double{a};
      mine.total += weighs ? wide : (a == a ? 0. : 1.);
      mine.least = Group::smaller(a, mine.least);
      mine.most = Group::larger(a, mine.most);
      Group::add_at_least(above, mine.number_above, a, wide, window_.high);
      Group::count_equal(mine.ties, a, window_.low);
    });
    const u32 marks = batch.marks_between(window_.low, window_.high);
    if (Group::ballot(marks != 0) == 0) return count;
    const int own = Group::count_of(marks);
    const int up_to = count + Group::count_to_lane(own);
    const int all = Group::from_lane(up_to, Group::warp_lanes - 1);
    if (all <= Group::list_size) {
      batch.append_marked(memory_.listed[Group::warp()] + (up_to - own), marks);
    }
    return all;
  }

  /// Every block gets all that is listed, in the order of the blocks and warps.
  WF_DEVICE void gather() {
    if (has_gathered_) Group::sync();  // what was gathered has been read
    has_gathered_ = true;
    Group::warp_sync();
    for (int i = Group::lane(); i < count_; i += Group::warp_lanes) {
      const float a = memory_.listed[Group::warp()][i];
      Group::template for_blocks<Reach::group>(
          [&](int block) { Group::Blocks::store(&memory_.gathered[first_ + i], block, a); });
    }
    Group::sync();
  }
  /// Whether the list tells the threshold.
  WF_DEVICE bool find_in_list(Amount what, float least, double amount, float& threshold) {
    const bool is_mass = what == Amount::mass;
    double reached = amount_above(what);
    if (!is_complete_ || reached >= amount) return false;
    const u32 from = order_of(window_.low) + 1;
    const u32 to = order_of(tile::min(window_.high, tally_.most)) - (window_.high <= tally_.most);
    if (tally_.listed > 0) {
      gather();
      const int begin = tally_.listed * Group::warp() / Group::warps;
      const int end = tally_.listed * (Group::warp() + 1) / Group::warps;
      const NoValues none;
      Candidates<Group, NoValues> candidates(none, memory_.gathered + begin, end - begin,
                                             end - begin, true);
      if (divide<Reach::block>(candidates, KeyRange::divided(from, to, Group::bins), what, reached,
                               amount, threshold)) {
        threshold = tile::max(threshold, least);
        return true;
      }
    }
    if (tally_.ties > 0) reached += is_mass ? tally_.ties * double{window_.low} : tally_.ties;
    threshold = reached >= amount ? tile::max(window_.low, least) : least;
    return reached >= amount || window_.low <= least;
  }
  /// What the entries of at least the window's end amount to.
  WF_DEVICE double amount_above(Amount what) const {
    return what == Amount::mass ? tally_.above : tally_.number_above;
  }
  WF_DEVICE float find_in_row(Amount what, float least, float most, double amount) {
    if (has_gathered_) Group::sync();  // what was gathered has been read
    is_complete_ = false;              // the lists' memory is needed
    // The window was not right, or too wide, but what was measured of it holds.
    u32 from = order_of(least), to = order_of(most);
    double reached = 0;
    if (amount_above(what) >= amount) {
      from = order_of(tile::max(least, tile::min(window_.high, most)));
    } else {
      reached = amount_above(what);
      if (window_.high <= most) to = order_of(tile::max(least, window_.high)) - 1;
      const double unit = what == Amount::mass ? double{window_.low} : 1.0;
      const double in_window = (double(tally_.listed) + tally_.ties) * unit;
      if (window_.low > least && reached + in_window >= amount) from = order_of(window_.low);
    }
    if (to < from) return least;
    KeyRange range = KeyRange::divided(from, to, Group::bins);
    // The largest are near each other: bins of a quarter of an octave.
    constexpr int quarter = 21;
    if (what == Amount::number && range.shift > quarter) {
      range.shift = quarter;
      range.from = range.to - (static_cast<u32>(Group::bins) << quarter) + 1;
    }
    Candidates<Group, Values> candidates(values_, memory_.listed[Group::warp()], Group::list_size,
                                         0, false);
    float threshold = least;
    divide<Reach::group>(candidates, range, what, reached, amount, threshold);
    return threshold;
  }

  /// The threshold among the candidates in `range`, `reached` being what the entries above amount
  /// to. False if not even all of them reach `amount`; `reached` is what they do.
  template <Reach reach, class Source>
  WF_DEVICE bool divide(Candidates<Group, Source>& candidates, KeyRange range, Amount what,
                        double& reached, double amount, float& threshold) {
    WF_NO_UNROLL
    for (;;) {
      candidates.for_each([&](float a) {
        const u32 key = order_of(a);
        if (range.contains(key)) bins_.add(range.bin(key), what == Amount::mass ? double{a} : 1.0);
      });
      const double suffix = reached + Group::sum_from_lane(bins_.template take<reach>());
      const int bin = Group::last_of(Group::ballot(suffix >= amount));
      if (bin < 0) {
        reached = Group::from_lane(suffix, 0);
        return false;
      }
      reached = Group::from_lane(suffix, bin + 1);
      range = KeyRange::divided(range.first_of(bin), range.last_of(bin), Group::bins);
      threshold = from_order(range.least);
      if (range.is_one()) return true;
      candidates.narrow(range);
      const int mine = Group::lane() == 0 ? candidates.count() : 0;
      const int all = group_.template reduce<reach>(mine, [](int a, int b) { return a + b; });
      if (all > Group::warp_lanes) continue;
      threshold = tile::max(threshold, weigh<reach>(candidates, all, what, reached, amount));
      return true;
    }
  }
  /// Of `all` candidates, whose numbers were the last message, the largest that reaches `amount`.
  template <Reach reach, class Source>
  WF_DEVICE float weigh(const Candidates<Group, Source>& candidates, int all, Amount what,
                        double above, double amount) {
    const int first =
        group_.template count_before_warp<reach, int>([](int count) { return count; });
    if (Group::lane() < candidates.count()) {
      const float a = candidates[Group::lane()];
      Group::template for_blocks<reach>(
          [&](int block) { Group::Blocks::store(&memory_.last[first + Group::lane()], block, a); });
    }
    Group::template sync<reach>();
    const float own = Group::lane() < all ? memory_.last[Group::lane()] : -tile::infinity;
    for (int i = 0; i < all; ++i) {
      const float a = memory_.last[i];
      if (own <= a) above += what == Amount::mass ? double{a} : 1.0;
    }
    return Group::largest_of_warp(above >= amount ? own : -tile::infinity);
  }

  Group& group_;
  Memory& memory_;
  typename Group::Bins bins_;
  const Values& values_;
  Window window_;
  Tally tally_;
  int first_ = 0, count_ = 0;  // of the warp's list in all that is listed
  Amount listed_for_ = Amount::number;
  bool is_exact_ = false;     // the forecast knew what the row amounts to
  bool is_complete_ = false;  // all in the window are listed
  bool has_gathered_ = false, has_told_ = false;
};

WF_NAMESPACE_END
