#include "cases/covering.h"

#include <numeric>
#include <random>
#include <stdexcept>

namespace wavefire::cases {
namespace {

constexpr int unset = -1;

/// The compatible pairs of values, and which of them are still open.
class Pairs {
 public:
  explicit Pairs(const FeatureSpace& space) : first_(space.sizes.size() + 1) {
    for (std::size_t f = 0; f < space.sizes.size(); ++f) first_[f + 1] = first_[f] + space.sizes[f];
    const auto n = static_cast<std::size_t>(first_.back());
    compatible_.assign(n * n, 0);
    for (std::size_t a = 0; a < space.sizes.size(); ++a) {
      for (std::size_t b = a + 1; b < space.sizes.size(); ++b) {
        for (int x = 0; x < space.sizes[a]; ++x) {
          for (int y = 0; y < space.sizes[b]; ++y) {
            const bool good = space.compatible(static_cast<int>(a), x, static_cast<int>(b), y);
            compatible_[at(a, x, b, y)] = compatible_[at(b, y, a, x)] = good ? 1 : 0;
          }
        }
      }
    }
    open_ = compatible_;
  }

  bool compatible(std::size_t a, int x, std::size_t b, int y) const {
    return compatible_[at(a, x, b, y)] != 0;
  }
  bool open(std::size_t a, int x, std::size_t b, int y) const { return open_[at(a, x, b, y)] != 0; }
  void close(const Row& row) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = 0; b < row.size(); ++b) open_[at(a, row[a], b, row[b])] = 0;
    }
  }
  int count_open(const Row& row) const {
    int count = 0;
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) count += open(a, row[a], b, row[b]) ? 1 : 0;
    }
    return count;
  }

 private:
  std::size_t at(std::size_t a, int x, std::size_t b, int y) const {
    return static_cast<std::size_t>(first_[a] + x) * static_cast<std::size_t>(first_.back()) +
           static_cast<std::size_t>(first_[b] + y);
  }
  std::vector<int> first_;
  std::vector<char> compatible_, open_;
};

/// Fills the unset features in random order, each with the compatible value that closes most open
/// pairs (`greedy`) or any. False: a feature has no compatible value left.
bool complete(Row& row, const FeatureSpace& space, const Pairs& pairs, std::mt19937& random,
              bool greedy) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random() % (i + 1)]);
  for (std::size_t f : order) {
    if (row[f] != unset) continue;
    int best = unset, most = -1;
    const int shift = static_cast<int>(random() % static_cast<unsigned>(space.sizes[f]));
    for (int i = 0; i < space.sizes[f]; ++i) {
      const int value = (i + shift) % space.sizes[f];
      int closes = 0;
      bool fits = true;
      for (std::size_t g = 0; g < row.size() && fits; ++g) {
        if (g == f || row[g] == unset) continue;
        fits = pairs.compatible(f, value, g, row[g]);
        closes += pairs.open(f, value, g, row[g]) ? 1 : 0;
      }
      if (fits && closes > most) {
        best = value;
        most = greedy ? closes : 1 << 20;
      }
    }
    if (best == unset) return false;
    row[f] = best;
  }
  return true;
}

template <class F>
void for_pairs(const FeatureSpace& space, F&& f) {
  for (std::size_t a = 0; a < space.sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < space.sizes.size(); ++b) {
      for (int x = 0; x < space.sizes[a]; ++x) {
        for (int y = 0; y < space.sizes[b]; ++y) f(a, x, b, y);
      }
    }
  }
}

}  // namespace

std::vector<Row> covering_table(const FeatureSpace& space) {
  Pairs pairs(space);
  std::mt19937 random(20240601);
  std::vector<Row> table;
  for_pairs(space, [&](std::size_t a, int x, std::size_t b, int y) {
    if (!pairs.open(a, x, b, y)) return;
    Row best;
    int most = 0;
    for (int attempt = 0; attempt < 30; ++attempt) {
      Row row(space.sizes.size(), unset);
      row[a] = x;
      row[b] = y;
      if (!complete(row, space, pairs, random, true)) continue;
      const int count = pairs.count_open(row);
      if (count > most) {
        most = count;
        best = row;
      }
    }
    if (best.empty()) throw std::logic_error("covering_table: no row can hold a compatible pair");
    pairs.close(best);
    table.push_back(best);
  });
  return table;
}

std::vector<Row> sample_table(const FeatureSpace& space, int count, unsigned seed) {
  const Pairs pairs(space);
  std::mt19937 random(seed);
  std::vector<Row> table;
  while (static_cast<int>(table.size()) < count) {
    Row row(space.sizes.size(), unset);
    if (complete(row, space, pairs, random, false)) table.push_back(row);
  }
  return table;
}

int missing_pairs(const FeatureSpace& space, const std::vector<Row>& table) {
  Pairs pairs(space);
  for (const Row& row : table) pairs.close(row);
  int missing = 0;
  for_pairs(space, [&](std::size_t a, int x, std::size_t b, int y) {
    missing += pairs.open(a, x, b, y) ? 1 : 0;
  });
  return missing;
}

}  // namespace wavefire::cases
