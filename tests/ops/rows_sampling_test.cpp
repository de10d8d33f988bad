// Sampling against sorting and summing in float64, over shapes of distributions that are hard for
// thresholds: ties, one entry, narrow and wide ranges, denormals.
#include <gtest/gtest.h>

#include "cases/rows.h"
#include "math/philox.h"
#include "reference/rows.h"
#include "tolerance/tolerance.h"
#include "wavefire/sampling.h"

namespace wavefire::cases {
namespace {

using reference::Values;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

enum Shape { peaked, flat, tied, one_hot, narrow, tiny, blocks, sparse, shapes };

/// Probabilities (not normalised) of a shape.
double weight(Shape shape, std::int64_t i, std::int64_t size, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  switch (shape) {
    case peaked: return 0.01 * std::exp(3 * normal(random));
    case flat: return uniform(random);
    case tied: return 0.25;
    case one_hot: return i == size / 2 ? 1 : 0;
    case narrow: return 1 + 1e-5 * uniform(random);
    case tiny: return 1e-39 * uniform(random);
    case blocks: return static_cast<double>(1 + i % 3);
    case sparse: return uniform(random) < 0.01 ? uniform(random) : 0;
    default: return 0;
  }
}

HostTensor weights_of(Shape shape, DType dtype, std::int64_t rows, std::int64_t size,
                      std::mt19937& random) {
  HostTensor p(dtype, {rows, size}, {size + 3, 1});
  p.fill(nan);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < size; ++i) set(p.view(), {r, i}, weight(shape, i, size, random));
    set(p.view(), {r, size - 1}, 0.5);  // some mass in the last column
  }
  return p;
}

Values row_of(const TensorView& view, std::int64_t row) {
  Values values;
  for (std::int64_t i = 0; i < view.shape[1]; ++i) values.push_back(get(view, {row, i}));
  return values;
}

double sum_of(const Values& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

/// What the filters leave of w.
Values filtered(const Values& w, const SamplingFilters& f) {
  double threshold = 0;
  if (f.top_k.value > 0) {
    threshold = reference::top_k_threshold(w, static_cast<std::int64_t>(f.top_k.value));
  }
  if (f.top_p.value < 1) {
    const Values base = f.top_k_first ? reference::keep(w, threshold) : w;
    // Sums in another order may differ in the last bits.
    const double mass = f.top_p.value * sum_of(base) * (1 - 1e-13);
    threshold = std::max(threshold, reference::top_p_threshold(base, mass));
  }
  const double largest = *std::max_element(w.begin(), w.end());
  const float bound = static_cast<float>(f.min_p.value) * static_cast<float>(largest);
  return reference::keep(w, std::max(threshold, double{bound}));
}

SamplingFilters filters_of(int choice, std::int64_t size) {
  SamplingFilters f;
  const double k = static_cast<double>(std::max<std::int64_t>(1, size / 3));
  switch (choice) {
    case 1: f.top_k.value = 1; break;
    case 2: f.top_k.value = k; break;
    case 3: f.top_k.value = 1073741824; break;
    case 4: f.top_p.value = 0.1; break;
    case 5: f.top_p.value = 0.9; break;
    case 6: f.top_p.value = 0.99999; break;
    case 7: f.min_p.value = 0.3; break;
    case 8: f = {{k, {}}, {0.5, {}}, {0, {}}, true}; break;
    case 9: f = {{k, {}}, {0.5, {}}, {0, {}}, false}; break;
    case 10: f = {{k, {}}, {0.8, {}}, {0.05, {}}, true}; break;
    default: break;
  }
  return f;
}

constexpr std::int64_t vocabularies[] = {1, 2, 7, 16, 131, 1023, 4099, 32000};

TEST(Sampling, FiltersKeepWhatSortingKeeps) {
  std::mt19937 random(1);
  for_covering({shapes, 3, 8, 11}, [&](const std::vector<int>& v) {
    const DType dtype = value_dtypes[v[1]];
    const std::int64_t size = vocabularies[v[2]];
    const HostTensor p = weights_of(static_cast<Shape>(v[0]), dtype, 2, size, random);
    const SamplingFilters f = filters_of(v[3], size);
    HostTensor out(DType::f32, {2, size});
    renormalize(p.view(), f, out.view());
    for (std::int64_t r = 0; r < 2; ++r) {
      const Values kept = filtered(row_of(p.view(), r), f), ours = row_of(out.view(), r);
      const double total = sum_of(kept);
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const double expected = kept[i] / total;
        const double relative = 3 * tolerance::unit_roundoff(DType::f32);
        ASSERT_LE(std::fabs(ours[i] - expected),
                  tolerance::rounded(DType::f32, expected, expected, relative))
            << "row " << r << " entry " << i;
        if (expected > 1e-37) {
          ASSERT_EQ(ours[i] > 0, kept[i] > 0) << i;
        }
      }
    }
  });
}

// Neither 1 / mass nor its product with a weight may leave the range of float32.
TEST(Sampling, RenormalisesTheSmallestAndTheLargestWeights) {
  for (double unit : {0x1p-149, 0x1p-126, 0x1p-64, 1.0, 0x1p100, 0x1p125}) {
    HostTensor p(DType::f32, {1, 40}), out(DType::f32, {1, 40});
    for (std::int64_t i = 0; i < 40; ++i) set(p.view(), {0, i}, i % 4 == 3 ? 3 * unit : 0);
    set(p.view(), {0, 0}, unit);
    renormalize(p.view(), {}, out.view());
    for (std::int64_t i = 0; i < 40; ++i) {
      const double expected = (i == 0 ? 1.0 : (i % 4 == 3 ? 3.0 : 0.0)) / 31;
      ASSERT_NEAR(get(out.view(), {0, i}), expected, 2e-8) << unit << " entry " << i;
    }
    renormalize(p.view(), {{10, {}}, {1, {}}, {0, {}}, false}, out.view());
    ASSERT_EQ(get(out.view(), {0, 0}), 0);
    ASSERT_NEAR(get(out.view(), {0, 3}), 0.1, 2e-8);
  }
}

/// The token at which the running sum of `kept` passes that share of their sum; both neighbours of
/// a boundary within rounding are accepted.
bool drawn_at(const Values& kept, double uniform, std::int64_t token) {
  if (kept[static_cast<std::size_t>(token)] <= 0) return false;
  const double target = uniform * sum_of(kept), slack = 1e-12 * sum_of(kept);
  const double before = std::accumulate(kept.begin(), kept.begin() + token, 0.0);
  return before <= target + slack &&
         target <= before + kept[static_cast<std::size_t>(token)] + slack;
}

/// What top-p alone draws in rounds: of the whole row, then of what lies above the last draw, until
/// it is one of those that are kept. Draws within rounding of a boundary may be either neighbour.
bool drawn_in_rounds(const Values& from, const Values& kept, const math::Uniforms& uniforms,
                     unsigned round, std::int64_t token) {
  const double target = uniforms[round] * sum_of(from), slack = 1e-12 * sum_of(from);
  double before = 0;
  for (std::size_t i = 0; i < from.size() && before <= target + slack; before += from[i++]) {
    if (from[i] <= 0 || target > before + from[i] + slack) continue;
    if (static_cast<std::int64_t>(i) == token && kept[i] > 0) return true;
    if (kept[i] > 0) continue;
    const Values above = reference::keep(from, std::nextafter(from[i], infinity));
    if (drawn_in_rounds(above, kept, uniforms, round + 1, token)) return true;
  }
  return false;
}

bool is_in_rounds(const SamplingFilters& f) {
  return f.top_p.value >= 0.5 && f.top_p.value < 1 && f.top_k.value == 0 && f.min_p.value == 0;
}

void expect_drawn_from(const TensorView& weights, const SamplingFilters& f, DType token_dtype,
                       std::mt19937& random) {
  const std::int64_t rows = weights.shape[0], size = weights.shape[1];
  HostTensor samples(token_dtype, {rows});
  const std::uint64_t seed = random(), offset = random();
  sample({weights, false, {}}, f, {seed, offset}, samples.view());
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t token = token_dtype == DType::i32 ? samples.view().as<std::int32_t>()[r]
                                                         : samples.view().as<std::int64_t>()[r];
    ASSERT_TRUE(token >= 0 && token < size);
    const math::Uniforms uniforms{seed, offset, static_cast<std::uint64_t>(r)};
    const Values row = row_of(weights, r), kept = filtered(row, f);
    ASSERT_TRUE(is_in_rounds(f) ? drawn_in_rounds(row, kept, uniforms, 0, token)
                                : drawn_at(kept, uniforms[0], token))
        << "row " << r << " token " << token;
  }
}

TEST(Sampling, DrawsInvertTheDistributionFunction) {
  std::mt19937 random(2);
  for_covering({shapes, 3, 8, 11, 2}, [&](const std::vector<int>& v) {
    const std::int64_t size = vocabularies[v[2]];
    const HostTensor p = weights_of(static_cast<Shape>(v[0]), value_dtypes[v[1]], 5, size, random);
    expect_drawn_from(p.view(), filters_of(v[3], size), v[4] == 0 ? DType::i32 : DType::i64,
                      random);
  });
}

// GPUs give each of many rows a block of its own.
TEST(Sampling, DrawsFromManyRows) {
  std::mt19937 random(9);
  for_covering({shapes, 2, 11}, [&](const std::vector<int>& v) {
    const std::int64_t size = v[1] == 0 ? 1203 : 2080;
    const HostTensor p = weights_of(static_cast<Shape>(v[0]), DType::f32, 160, size, random);
    expect_drawn_from(p.view(), filters_of(v[2], size), DType::i32, random);
  });
}

// Several pieces of a row for each warp of a GPU's group, of which it may read a part.
TEST(Sampling, DrawsFromLongRows) {
  std::mt19937 random(12);
  for (std::int64_t size : {70001, 131072}) {
    for (Shape shape : {peaked, flat, narrow, one_hot, blocks}) {
      const HostTensor p = weights_of(shape, DType::f32, 3, size, random);
      for (double top_p : {0.5, 0.9}) {
        SamplingFilters f;
        f.top_p.value = top_p;
        expect_drawn_from(p.view(), f, DType::i32, random);
      }
    }
  }
}

TEST(Sampling, ATopPOfEachRowDrawsAsTheNumber) {
  std::mt19937 random(13);
  const std::int64_t rows = 64, size = 1000;
  const HostTensor p = weights_of(peaked, DType::f32, rows, size, random);
  const float choices[] = {0.1f, 0.5f, 0.9f, 1.f};
  HostTensor shares(DType::f32, {rows}), samples(DType::i32, {rows}), alike(DType::i32, {rows});
  for (std::int64_t r = 0; r < rows; ++r) set(shares.view(), {r}, choices[r % 4]);
  const auto token = [](const HostTensor& t, std::int64_t r) {
    return t.view().as<const std::int32_t>()[r];
  };
  SamplingFilters f;
  f.top_p.rows = shares.view();
  sample({p.view(), false, {}}, f, {21, 4}, samples.view());
  for (float choice : choices) {
    SamplingFilters one;
    one.top_p.value = choice;
    sample({p.view(), false, {}}, one, {21, 4}, alike.view());
    for (std::int64_t r = 0; r < rows; ++r) {
      if (choices[r % 4] == choice) {
        EXPECT_EQ(token(samples, r), token(alike, r)) << r;
      }
    }
  }
}

TEST(Sampling, LogitsDrawAsTheirSoftmax) {
  std::mt19937 random(3);
  for (DType dtype : value_dtypes) {
    for (std::int64_t size : vocabularies) {
      const HostTensor logits = random_tensor(dtype, {4, size}, Layout::gaps, random, 5);
      const HostTensor samples(DType::i32, {4});
      SamplingFilters f;
      f.top_k.value = static_cast<double>(std::max<std::int64_t>(size / 2, 1));
      f.top_p.value = 0.8;
      f.top_k_first = true;
      sample({logits.view(), true, {}}, f, {7, 0}, samples.view());
      for (std::int64_t r = 0; r < 4; ++r) {
        const Values l = row_of(logits.view(), r);
        const std::int64_t token = samples.view().as<std::int32_t>()[r];
        const double bound =
            reference::top_k_threshold(l, static_cast<std::int64_t>(f.top_k.value));
        ASSERT_GE(l[static_cast<std::size_t>(token)], bound);
        const Values p = reference::keep(reference::softmax(l, 1), std::exp(-infinity));
        ASSERT_GT(p[static_cast<std::size_t>(token)], 0);
      }
    }
  }
}

TEST(Sampling, FrequenciesFollowTheKeptWeights) {
  const std::int64_t draws = 20000;
  HostTensor p(DType::f32, {1, 9});
  const double weights[] = {0.3, 0.05, 0.15, 0.2, 0.1, 0, 0.05, 0.1, 0.05};
  for (std::int64_t i = 0; i < 9; ++i) set(p.view(), {0, i}, weights[i]);
  const HostTensor rows = HostTensor::of(std::vector<std::int32_t>(draws, 0));
  // The least that top-p keeps, in twentieths: of ties, all.
  const std::pair<double, int> cases[] = {{1, 1},    {0.9, 1},  {0.8, 2},
                                          {0.45, 4}, {0.25, 6}, {0.1, 6}};
  for (const auto& [top_p, least] : cases) {
    const HostTensor samples(DType::i32, {draws});
    SamplingFilters f;
    f.top_p.value = top_p;
    sample({p.view(), false, rows.view()}, f, {11, 0}, samples.view());
    std::vector<double> count(9);
    for (std::int64_t i = 0; i < draws; ++i) {
      ++count[static_cast<std::size_t>(samples.view().as<std::int32_t>()[i])];
    }
    Values kept(weights, weights + 9);
    for (double& w : kept) w = std::round(20 * w) >= least ? w : 0;
    double chi_square = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      const double expected = kept[i] / sum_of(kept) * static_cast<double>(draws);
      if (expected == 0) {
        EXPECT_EQ(count[i], 0) << top_p;
      } else {
        chi_square += (count[i] - expected) * (count[i] - expected) / expected;
      }
    }
    EXPECT_LT(chi_square, 24.4) << top_p;  // 0.1 % of seven degrees of freedom, the most
  }
}

TEST(Sampling, ASeedOfItsOwnMakesARowIndependentOfItsPlace) {
  std::mt19937 random(4);
  const std::int64_t size = 1000;
  const HostTensor p = weights_of(flat, DType::f32, 4, size, random);
  HostTensor seeds(DType::i64, {4}), reversed(DType::i64, {4}), alone(DType::i64, {1});
  const std::int64_t keys[] = {11, 22, -33, 1ll << 62};
  for (std::int64_t i = 0; i < 4; ++i) {
    seeds.view().as<std::int64_t>()[i] = reversed.view().as<std::int64_t>()[3 - i] = keys[i];
  }
  const auto draw = [&](const TensorView& w, const HostTensor& k, const TensorView& rows = {}) {
    const std::int64_t count = k.view().shape[0];
    const HostTensor samples(DType::i32, {count});
    sample({w, false, rows}, {}, {0, 5, k.view()}, samples.view());
    const auto* tokens = samples.view().as<std::int32_t>();
    return std::vector<std::int32_t>(tokens, tokens + count);
  };
  const std::vector<std::int32_t> all = draw(p.view(), seeds);
  const HostTensor order = HostTensor::of(std::vector<std::int32_t>{3, 2, 1, 0});
  const std::vector<std::int32_t> turned = draw(p.view(), reversed, order.view());
  for (std::int64_t i = 0; i < 4; ++i) {
    alone.view().as<std::int64_t>()[0] = keys[i];
    const TensorView row = changed(p.view(), [&](auto& v) {
      v.data = v.template as<float>() + i * v.strides[0];
      v.shape[0] = 1;
    });
    const HostTensor one(DType::i32, {1});
    sample({row, false, {}}, {}, {static_cast<std::uint64_t>(keys[i]), 5}, one.view());
    EXPECT_EQ(all[static_cast<std::size_t>(i)], one.view().as<std::int32_t>()[0]);
    EXPECT_EQ(all[static_cast<std::size_t>(i)], turned[static_cast<std::size_t>(3 - i)]);
    EXPECT_EQ(draw(row, alone)[0], all[static_cast<std::size_t>(i)]);
  }
}

constexpr double bad_weights[] = {nan, infinity, -1, 0};  // 0: all of the row

/// A row of each kind of bad weights, at `at`, and a good one.
HostTensor with_bad_rows(std::int64_t size, std::int64_t at) {
  HostTensor p(DType::f32, {5, size});
  p.fill(0.5);
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t i = 0; i < size; ++i) {
      if (bad_weights[r] == 0 || i == at) set(p.view(), {r, i}, bad_weights[r]);
    }
  }
  return p;
}

TEST(Sampling, RowsThatCannotBeDrawnFromAreReported) {
  for (std::int64_t size : {1, 17, 300}) {
    for (std::int64_t at : {std::int64_t{0}, size / 2, size - 1}) {
      const HostTensor p = with_bad_rows(size, at);
      for (const SamplingFilters& filters : {filters_of(0, size), filters_of(5, size)}) {
        HostTensor samples(DType::i32, {5}), valid(DType::b1, {5});
        samples.fill_bits(77);
        sample({p.view(), false, {}}, filters, {1, 0}, samples.view(), valid.view());
        for (std::int64_t r = 0; r < 5; ++r) {
          EXPECT_EQ(valid.view().as<std::uint8_t>()[r], r == 4 ? 1 : 0) << r;
          const std::int32_t token = samples.view().as<std::int32_t>()[r];
          EXPECT_TRUE(r == 4 ? token >= 0 && token < size : token == 0);
        }
      }
    }
  }
  HostTensor logits(DType::f32, {4, 8}), samples(DType::i32, {4}), valid(DType::b1, {4});
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t r = 0; r < 4; ++r) set(logits.view(), {r, i}, r < 2 ? i : -infinity);
  }
  set(logits.view(), {0, 3}, nan);
  set(logits.view(), {1, 3}, infinity);
  set(logits.view(), {3, 5}, -1e30);
  sample({logits.view(), true, {}}, {}, {1, 0}, samples.view(), valid.view());
  for (std::int64_t r = 0; r < 4; ++r) {
    EXPECT_EQ(valid.view().as<std::uint8_t>()[r], r == 3 ? 1 : 0) << r;
    EXPECT_EQ(samples.view().as<std::int32_t>()[r], r == 3 ? 5 : 0) << r;
  }
}

TEST(Sampling, RowsThatCannotBeDrawnFromAreErrors) {
  HostTensor samples(DType::i32, {5}), one(DType::i32, {1});
  samples.fill_bits(77);
  const HostTensor p = with_bad_rows(17, 8);
  expect_rejected("probs", [&] { sample({p.view(), false, {}}, {}, {1, 0}, samples.view()); });
  EXPECT_EQ(samples.view().as<std::int32_t>()[4], 77);
  HostTensor logits(DType::f32, {1, 8});
  for (double value : {nan, infinity}) {
    set(logits.view(), {0, 3}, value);
    expect_rejected("logits", [&] { sample({logits.view(), true, {}}, {}, {1, 0}, one.view()); });
  }
  logits.fill(-infinity);
  expect_rejected("logits", [&] { sample({logits.view(), true, {}}, {}, {1, 0}, one.view()); });
}

TEST(Softmax, AgreesWithTheDefinition) {
  std::mt19937 random(5);
  for (DType dtype : value_dtypes) {
    for (std::int64_t size : vocabularies) {
      const HostTensor logits = random_tensor(dtype, {4, size}, Layout::gaps, random, 8);
      const HostTensor temperature = HostTensor::of(std::vector<float>{0.3f, 1.f, 2.f, 10.f});
      const HostTensor out(DType::f32, {4, size});
      softmax(logits.view(), {1, temperature.view()}, out.view());
      for (std::int64_t r = 0; r < 4; ++r) {
        const Values l = row_of(logits.view(), r), ours = row_of(out.view(), r);
        const double t = get(temperature.view(), {r});
        const double top = *std::max_element(l.begin(), l.end());
        const Values expected = reference::softmax(l, t);
        for (std::size_t i = 0; i < l.size(); ++i) {
          ASSERT_NEAR(ours[i], expected[i],
                      tolerance::softmax(expected[i], (top - l[i]) / t * std::numbers::log2e));
        }
      }
    }
  }
}

TEST(Softmax, ColdRowsAndRowsWithoutOne) {
  for (std::int64_t size : {100, 151936}) {
    for (double t : {1e-3, 1e-6, 1e-38}) {
      HostTensor logits(DType::f32, {1, size}), out(DType::f32, {1, size});
      logits.fill(-20);
      set(logits.view(), {0, 57}, 42);
      softmax(logits.view(), {t, {}}, out.view());
      for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(get(out.view(), {0, i}), i == 57 ? 1 : 0);
    }
  }
  for (double value : {nan, infinity, -infinity}) {
    HostTensor logits(DType::f32, {1, 40}), out(DType::f32, {1, 40});
    if (value == -infinity) logits.fill(value);
    set(logits.view(), {0, 7}, value);
    softmax(logits.view(), {1, {}}, out.view());
    for (double p : values_of(out.view())) ASSERT_TRUE(std::isnan(p));
  }
}

TEST(MaskLogits, KeepsTheLargestAndTheirTies) {
  std::mt19937 random(6);
  for (DType dtype : value_dtypes) {
    for (std::int64_t size : vocabularies) {
      for (int ties = 0; ties < 3; ++ties) {
        HostTensor logits = random_tensor(dtype, {3, size}, Layout::gaps, random, 5);
        for (std::int64_t i = 0; ties > 0 && i < size; ++i) {
          for (std::int64_t r = 0; r < 3; ++r) {
            const double coarse = ties == 1 ? std::round(get(logits.view(), {r, i})) : -25;
            set(logits.view(), {r, i}, i % 5 == 4 ? -infinity : coarse);
          }
        }
        const HostTensor k = HostTensor::of(std::vector<std::int32_t>{
            1, static_cast<std::int32_t>(size / 2 + 1), static_cast<std::int32_t>(size)});
        const HostTensor out(dtype, {3, size});
        mask_logits(logits.view(), {0, k.view()}, out.view());
        for (std::int64_t r = 0; r < 3; ++r) {
          const Values l = row_of(logits.view(), r);
          const double bound = reference::top_k_threshold(l, k.view().as<std::int32_t>()[r]);
          for (std::int64_t i = 0; i < size; ++i) {
            const double value = l[static_cast<std::size_t>(i)];
            ASSERT_EQ(get(out.view(), {r, i}), value >= bound ? value : -infinity);
          }
        }
      }
    }
  }
}

TEST(Sampling, BadInputIsNamedAndNothingIsWritten) {
  HostTensor p(DType::f32, {2, 8}), samples(DType::i32, {2}), out(DType::f32, {2, 8});
  p.fill(0.5);
  samples.fill_bits(77);
  const TensorView pv = p.view(), sv = samples.view();
  const auto run = [&](const SamplingInput& input, SamplingFilters f, RandomNumbers random = {}) {
    sample(input, f, random, sv);
  };
  expect_rejected("probs", [&] { run({{}, false, {}}, {}); });
  expect_rejected("probs", [&] {
    run({changed(pv, [](auto& v) { v.dtype = DType::e4m3fn; }), false, {}}, {});
  });
  expect_rejected("logits",
                  [&] { run({changed(pv, [](auto& v) { v.shape[1] = 0; }), true, {}}, {}); });
  expect_rejected("top_k", [&] { run({pv, false, {}}, {{-1, {}}, {1, {}}, {0, {}}, false}); });
  expect_rejected("top_k", [&] { run({pv, false, {}}, {{2.5, {}}, {1, {}}, {0, {}}, false}); });
  for (double top_p : {0.0, -0.1, 1.1, nan}) {
    expect_rejected("top_p", [&] { run({pv, false, {}}, {{0, {}}, {top_p, {}}, {0, {}}, false}); });
  }
  for (double min_p : {-0.1, 1.1, nan}) {
    expect_rejected("min_p", [&] { run({pv, false, {}}, {{0, {}}, {1, {}}, {min_p, {}}, false}); });
  }
  const HostTensor three = HostTensor::of(std::vector<float>{0.5f, 0.5f, 0.5f});
  expect_rejected("top_p",
                  [&] { run({pv, false, {}}, {{0, {}}, {1, three.view()}, {0, {}}, false}); });
  const HostTensor three_seeds(DType::i64, {3});
  expect_rejected("seed", [&] { run({pv, false, {}}, {}, {0, 0, three_seeds.view()}); });
  for (double t : {0.0, -1.0, infinity, nan}) {
    expect_rejected("temperature", [&] { softmax(pv, {t, {}}, out.view()); });
  }
  expect_rejected("top_k", [&] { mask_logits(pv, {0, {}}, out.view()); });
  EXPECT_EQ(samples.view().as<std::int32_t>()[0], 77);
}

TEST(Sampling, BadValuesInTensorsAreNamed) {
  HostTensor p(DType::f32, {2, 8}), samples(DType::i32, {2});
  p.fill(0.5);
  const HostTensor zero = HostTensor::of(std::vector<std::int32_t>{3, 0});
  expect_rejected("top_k", [&] {
    sample({p.view(), false, {}}, {{0, zero.view()}, {1, {}}, {0, {}}, false}, {}, samples.view());
  });
  const HostTensor outside = HostTensor::of(std::vector<std::int32_t>{0, 2});
  expect_rejected("indices",
                  [&] { sample({p.view(), false, outside.view()}, {}, {}, samples.view()); });
}

// One key for all samples, in memory, is like the number.
TEST(Sampling, ASharedSeedIsLikeTheNumber) {
  std::mt19937 random(8);
  const std::int64_t rows = 40;
  const HostTensor p = weights_of(flat, DType::f32, rows, 1000, random);
  HostTensor seed(DType::i64, {1}), offset(DType::i64, {1});
  seed.view().as<std::int64_t>()[0] = -33;
  offset.view().as<std::int64_t>()[0] = 5;
  const HostTensor by_number(DType::i32, {rows}), by_tensor(DType::i32, {rows});
  sample({p.view(), false, {}}, {}, {static_cast<std::uint64_t>(-33), 5}, by_number.view());
  sample({p.view(), false, {}}, {}, {0, 0, seed.view(), offset.view()}, by_tensor.view());
  EXPECT_EQ(values_of(by_tensor.view()), values_of(by_number.view()));
}

}  // namespace
}  // namespace wavefire::cases
