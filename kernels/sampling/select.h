// Thresholds of filters, found without sorting: the schedule of one lane that walks through a row.
//
// A filter keeps the entries of at least some threshold: the largest one at which they number k, or
// weigh enough. It is bracketed: a pass over the candidates measures what lies above four pivots at
// once, the entries between the two that enclose the threshold become the candidates, and so on
// until one value is left. Pivots divide the bracket evenly in the order of the floats' bits, so
// that it shrinks by four whatever the distribution: a few passes, the later ones over few entries.
// Sums are in double precision.
#pragma once

#include "sampling/filter.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(sampling)

inline constexpr int pivots = 4;

/// What lies between two values: candidates and the amount above them.
struct Bracket {
  const float* data;  // the candidates are among these
  i64 size;
  float least, most;  // candidates lie in [least, most]
  double above;       // number or mass of the entries above `most`
};

/// above[i] = bracket.above + number or mass of the entries of at least pivot[i].
template <class Rows, bool by_mass>
WF_DEVICE void measure(const Bracket& bracket, const float (&pivot)[pivots],
                       double (&above)[pivots]) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  tile::WideSum sum[pivots] = {};
  const tile::Wide one = tile::widen(T::splat(1.f));
  const E p[pivots] = {T::splat(pivot[0]), T::splat(pivot[1]), T::splat(pivot[2]),
                       T::splat(pivot[3])};
  Rows::for_columns(bracket.size, [&](i64 column, int count) {
    const E v = Rows::fill_behind(Rows::template load<DType::f32>(bracket.data, column, count),
                                  count, -tile::infinity);
    const tile::Wide amount = by_mass ? tile::widen(v) : one;
    for (int i = 0; i < pivots; ++i) tile::add(sum[i], amount, tile::less_equal(p[i], v));
  });
  for (int i = 0; i < pivots; ++i) above[i] = bracket.above + tile::total(sum[i]);
}

/// Narrows the bracket to the entries in [least, bound), which are copied to `scratch` (where the
/// entries may be already).
template <class Rows>
WF_DEVICE void narrow(Bracket& bracket, float least, float bound, double above, float* scratch) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const E low = T::splat(least), high = T::splat(bound);
  E smallest = T::splat(tile::infinity), largest = T::splat(-tile::infinity);
  i64 kept = 0;
  Rows::for_columns(bracket.size, [&](i64 column, int count) {
    const E v = Rows::template load<DType::f32>(bracket.data, column, count);
    auto keep = tile::both(tile::less_equal(low, v), tile::less(v, high));
    if (count < T::width) keep = tile::both(keep, tile::lanes_from_bits((1u << count) - 1));
    if (!tile::any(keep)) return;
    smallest = tile::min(tile::select(keep, v, smallest), smallest);
    largest = tile::max(tile::select(keep, v, largest), largest);
    kept += tile::compress_store(scratch + kept, v, keep);
  });
  bracket = {scratch, kept, tile::reduce_min(smallest), tile::reduce_max(largest), above};
}

/// The largest threshold at which the entries of at least that number (by_mass: weigh) `amount` or
/// more, of those in [least, most]: at `least` they are taken to do. `most` is among the entries.
/// `scratch` has room for all of them and an element more.
template <class Rows, bool by_mass>
WF_DEVICE float threshold_of(const float* data, i64 size, float least, float most, double amount,
                             float* scratch) {
  Bracket bracket{data, size, least, most, 0};
  while (bracket.least < bracket.most) {
    const u32 from = order_of(bracket.least);
    const u64 width = order_of(bracket.most) - from;
    float pivot[pivots];
    for (u32 i = 0; i < pivots; ++i) {
      const u64 step = width * (i + 1) / pivots;
      pivot[i] = from_order(from + static_cast<u32>(step > 0 ? step : 1));
    }
    double above[pivots];
    measure<Rows, by_mass>(bracket, pivot, above);
    int reached = pivots;
    while (reached > 0 && above[reached - 1] < amount) --reached;
    if (reached == pivots) return bracket.most;
    narrow<Rows>(bracket, reached == 0 ? bracket.least : pivot[reached - 1], pivot[reached],
                 above[reached], scratch);
    if (bracket.size == 0) return least;  // not even all of them reach it
  }
  return bracket.most;
}

WF_NAMESPACE_END
