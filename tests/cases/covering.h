// Tables of feature values: a covering table, in which every pair of values of two features occurs,
// and a seeded sample of the product.
#pragma once

#include <functional>
#include <vector>

namespace wavefire::cases {

/// A value index for every feature.
using Row = std::vector<int>;

struct FeatureSpace {
  std::vector<int> sizes;  // how many values each feature has
  /// Whether value `x` of feature `a` and value `y` of feature `b` > `a` can occur together.
  std::function<bool(int a, int x, int b, int y)> compatible;
};

/// Greedy and deterministic. Throws std::logic_error for a pair of compatible values that no row
/// can hold.
std::vector<Row> covering_table(const FeatureSpace& space);

/// `count` rows of compatible values.
std::vector<Row> sample_table(const FeatureSpace& space, int count, unsigned seed);

/// Pairs of compatible values that no row of `table` has.
int missing_pairs(const FeatureSpace& space, const std::vector<Row>& table);

}  // namespace wavefire::cases
