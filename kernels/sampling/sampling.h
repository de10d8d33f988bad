// Choosing from a row of weights by thresholds. Weights are non-negative and need not sum to one.
//
// Every filter is a threshold on the weight, and is found exactly by radix selection on the bits of
// the float (which order non-negative floats): 11, 11 and 10 bits, each pass only over the entries
// that share the bits found so far. A draw inverts the distribution function over the kept entries
// in the order of the vocabulary, in double precision.
#pragma once

#include "math/exp2.h"
#include "sampling/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(sampling)

/// Largest value; NaN if there is any.
template <class Rows>
WF_DEVICE float row_maximum(const float* row, i64 size) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  E top = T::splat(-tile::infinity);
  E sum = T::splat(0.f);  // becomes NaN with any NaN
  float rest = -tile::infinity;
  Rows::for_columns(size, [&](i64 column, int count) {
    if (count == T::width) {
      const E v = T::load(row + column);
      top = tile::max(top, v);
      sum = sum + v * T::splat(0.f);
    } else {
      for (int i = 0; i < count; ++i) {
        const float v = row[column + i];
        if (!(v <= rest)) rest = v;
      }
    }
  });
  const float check = tile::reduce_add(sum);
  const float whole = tile::reduce_max(top);
  if (rest != rest) return rest;
  if (check != check && whole < tile::infinity) {  // NaN, or -inf * 0: look closer
    for (i64 i = 0; i < size; ++i) {
      if (row[i] != row[i]) return row[i];
    }
  }
  return whole > rest ? whole : rest;
}

/// weights = exp((logits - maximum) / temperature); returns their sum.
template <class Rows>
WF_DEVICE double exponentials(const float* logits, i64 size, float maximum, float temperature,
                              float* weights) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  constexpr float log2_e = 1.44269504f;
  const E top = T::splat(maximum);
  const E unit = T::splat(log2_e / temperature);
  double sum = 0;
  constexpr i64 block = 1024;  // float32 within a block, double across: 128k terms keep 7 digits
  for (i64 begin = 0; begin < size; begin += block) {
    E partial = T::splat(0.f);
    float rest = 0.f;
    Rows::for_columns(size - begin < block ? size - begin : block, [&](i64 column, int count) {
      const i64 at = begin + column;
      const E w = math::exp2((Rows::template load<DType::f32>(logits, at, count) - top) * unit);
      Rows::template store<DType::f32>(weights, at, count, w);
      if (count == T::width) {
        partial = partial + w;
      } else {
        for (int i = 0; i < count; ++i) rest += weights[at + i];
      }
    });
    sum += double{tile::reduce_add(partial)} + double{rest};
  }
  return sum;
}

WF_DEVICE double total_weight(const float* weights, i64 size) {
  double sum = 0;
  for (i64 i = 0; i < size; ++i) sum += double{weights[i]};
  return sum;
}

/// Unsigned integers in the order of the floats, and back.
WF_DEVICE u32 order_of(float a) {
  const u32 bits = __builtin_bit_cast(u32, a);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}
WF_DEVICE float from_order(u32 order) {
  return __builtin_bit_cast(float, order >> 31 != 0 ? order ^ 0x80000000u : ~order);
}

/// The largest threshold such that the entries at or above it number at least `count` (by_mass
/// false) or weigh at least `mass` (true), among the entries of at least `floor`. `scratch` [size].
WF_DEVICE float select_threshold(const float* weights, i64 size, bool by_mass, i64 count,
                                 double mass, float floor, float* scratch, Histogram& histogram) {
  constexpr int shifts[3] = {21, 10, 0};
  constexpr u32 widths[3] = {2048, 2048, 1024};
  const float* candidates = weights;
  i64 candidate_count = size;
  i64 counted = 0;     // entries above the bucket at hand
  double weighed = 0;  // and their mass
  u32 prefix = 0;
  for (int pass = 0; pass < 3; ++pass) {
    for (u32 b = 0; b < widths[pass]; ++b) {
      histogram.count[b] = 0;
      histogram.mass[b] = 0;
    }
    for (i64 i = 0; i < candidate_count; ++i) {
      const float w = candidates[i];
      if (w < floor) continue;
      const u32 b = order_of(w) >> shifts[pass] & (widths[pass] - 1);
      ++histogram.count[b];
      histogram.mass[b] += double{w};
    }
    u32 bucket = widths[pass];
    while (bucket > 0) {
      --bucket;
      const i64 with_count = counted + histogram.count[bucket];
      const double with_mass = weighed + histogram.mass[bucket];
      if (histogram.count[bucket] > 0 && (by_mass ? with_mass >= mass : with_count >= count)) break;
      if (bucket == 0) return floor;  // even all of them do not reach it
      counted = with_count;
      weighed = with_mass;
    }
    prefix |= bucket << shifts[pass];
    if (pass == 2) break;
    i64 kept = 0;
    for (i64 i = 0; i < candidate_count; ++i) {
      const float w = candidates[i];
      if (!(w < floor) && (order_of(w) >> shifts[pass] & (widths[pass] - 1)) == bucket) {
        scratch[kept++] = w;
      }
    }
    candidates = scratch;
    candidate_count = kept;
  }
  return from_order(prefix);
}

/// The threshold of a filter: entries of at least that weight stay. `total` is the mass of all.
WF_DEVICE float filter_threshold(const float* weights, i64 size, double total, float maximum,
                                 const Filter& filter, float* scratch, Histogram& histogram) {
  float threshold = 0.f;
  if (filter.top_k > 0 && filter.top_k < size) {
    threshold = select_threshold(weights, size, false, filter.top_k, 0, 0.f, scratch, histogram);
  }
  if (filter.top_p < 1.f) {
    double mass = total;
    const float floor = filter.top_k_first ? threshold : 0.f;
    if (floor > 0.f) {
      mass = 0;
      for (i64 i = 0; i < size; ++i) mass += weights[i] < floor ? 0. : double{weights[i]};
    }
    const float by_mass = select_threshold(weights, size, true, 0, double{filter.top_p} * mass,
                                           floor, scratch, histogram);
    if (by_mass > threshold) threshold = by_mass;
  }
  if (filter.min_p > 0.f && filter.min_p * maximum > threshold) threshold = filter.min_p * maximum;
  return threshold;
}

/// The entry at which the running mass of the kept entries passes uniform * (their mass).
WF_DEVICE i64 draw(const float* weights, i64 size, float threshold, float uniform) {
  double mass = 0;
  for (i64 i = 0; i < size; ++i) mass += weights[i] < threshold ? 0. : double{weights[i]};
  const double target = double{uniform} * mass;
  double running = 0;
  i64 last = 0;
  for (i64 i = 0; i < size; ++i) {
    const float w = weights[i];
    if (w < threshold || !(w > 0.f)) continue;
    running += double{w};
    last = i;
    if (running > target) break;
  }
  return last;
}

WF_NAMESPACE_END
