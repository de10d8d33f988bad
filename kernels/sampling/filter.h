// What filters keep, whoever searches the row: the entries of at least a threshold.
#pragma once

#include "sampling/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(sampling)

/// Unsigned integers in the order of the floats, and back.
WF_DEVICE u32 order_of(float a) {
  const u32 bits = __builtin_bit_cast(u32, a);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}
WF_DEVICE float from_order(u32 order) {
  return __builtin_bit_cast(float, order >> 31 != 0 ? order ^ 0x80000000u : ~order);
}

/// The next larger float.
WF_DEVICE float next_above(float a) { return from_order(order_of(a) + 1); }

/// Weights of a row: not negative, `total` together, the largest `maximum`.
struct Summary {
  double total = 0;
  float maximum = 0.f;
};

/// What entries amount to: how many they are, or what they weigh.
enum class Amount : unsigned char { number, mass };

/// The threshold of a filter. `search` knows the row:
///   threshold_of(what, least, most, amount): the largest threshold at which the entries, of those
///     in [least, most], amount to that; at `least` they are taken to do
///   mass_of(threshold): of the entries of at least that weight
template <class Search>
WF_DEVICE float filter_threshold(const Filter& filter, i64 size, const Summary& row,
                                 Search&& search) {
  float threshold = 0.f;
  WF_NO_UNROLL
  for (int i = 0; i < 2; ++i) {  // one search in the code, not two
    const Amount what = i == 0 ? Amount::number : Amount::mass;
    float least = 0.f;
    double amount = static_cast<double>(filter.top_k);
    if (what == Amount::number) {
      if (filter.top_k == 0 || filter.top_k >= size) continue;
    } else {
      if (!(filter.top_p < 1)) continue;
      const bool is_part = filter.top_k_first && threshold > 0.f;
      const double mass = is_part ? search.mass_of(threshold) : row.total;
      // All entries below this one together weigh less than what may be dropped.
      const double unit = 0.999 * (1 - filter.top_p) * mass / static_cast<double>(size);
      least = tile::min(tile::max(static_cast<float>(unit), threshold), row.maximum);
      amount = filter.top_p * mass;
    }
    threshold = tile::max(threshold, search.threshold_of(what, least, row.maximum, amount));
  }
  if (filter.min_p > 0.f) threshold = tile::max(threshold, filter.min_p * row.maximum);
  return threshold;
}

/// 1 / mass as two factors: of subnormal weights it is infinite, of huge ones subnormal.
struct Scale {
  float power, factor;
};
WF_DEVICE Scale scale_to_one(double mass) {
  const double step = mass < 0x1p-64 ? 0x1p100 : (mass > 0x1p100 ? 0x1p-64 : 1);
  return {static_cast<float>(step), static_cast<float>(1 / (mass * step))};
}

/// log2(e) / temperature; finite, so that 0 stays 0 at the smallest temperatures.
WF_DEVICE float exponent_unit(float temperature) {
  constexpr float log2_e = 1.44269504f;
  return tile::min(log2_e / temperature, 3e38f);
}

WF_NAMESPACE_END
