// Attention over the case tables, against the float64 reference and by four harnesses that need
// none: sums of weights, payloads that tell where they come from, outputs that hold NaN before, and
// poison in every byte that belongs to no token. Set WAVEFIRE_TEST_TABLE=full for the large table.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "cases/attention_backend.h"

namespace wavefire::cases {
namespace {

bool full() {
  const char* table = std::getenv("WAVEFIRE_TEST_TABLE");
  return table != nullptr && std::string(table) == "full";
}

const std::vector<AttentionCase>& table() {
  static const std::vector<AttentionCase> cases =
      full() ? full_attention_cases() : covering_attention_cases();
  return cases;
}

std::map<std::string, std::size_t> least_counts() {
  std::ifstream file(WAVEFIRE_ATTENTION_COUNTS);
  std::map<std::string, std::size_t> counts;
  for (std::string line; std::getline(file, line);) {
    if (const std::size_t space = line.find(' '); line[0] != '#' && space != std::string::npos) {
      counts[line.substr(0, space)] = std::stoul(line.substr(space));
    }
  }
  return counts;
}

/// Calls f(case, backend) for the table; stops after a few failures.
template <class F>
void for_cases(F&& f) {
  LibraryAttention library;
  int failures = 0;
  for (const AttentionCase& listed : table()) {
    const AttentionCase c = library.nearest(listed);
    SCOPED_TRACE(to_string(c) + " on " + library.name());
    f(c, library);
    if (::testing::Test::HasFailure() && ++failures == 3) return;
  }
}

/// Calls f(request, row of the request, token, head).
template <class F>
void for_rows(const AttentionData& data, F&& f) {
  for (std::size_t b = 0; b < data.requests().size(); ++b) {
    const reference::AttentionRequest& r = data.requests()[b];
    for (std::int64_t row = 0; row < r.q_len * r.num_qo_heads; ++row) {
      f(r, row, data.token_of_request(b) + row / r.num_qo_heads, row % r.num_qo_heads);
    }
  }
}

double out_at(const AttentionData& data, std::int64_t token, std::int64_t head, std::int64_t d) {
  return get(data.tensors.out, {token, head, d});
}

/// One message a case, with the worst element.
struct Worst {
  double excess = 0;  // error over tolerance
  std::string text;

  void add(const char* what, double got, double expected, double tolerance, std::int64_t token,
           std::int64_t head, std::int64_t d) {
    const bool equal = got == expected || (std::isnan(got) && std::isnan(expected));
    const double e = equal ? 0 : std::fabs(got - expected) / tolerance;
    if (e <= excess) return;
    excess = std::isnan(e) ? INFINITY : e;
    std::ostringstream out;
    out << what << " at token " << token << " head " << head << " column " << d << " is " << got
        << ", expected " << expected << " within " << tolerance;
    text = out.str();
  }
};

double largest_value(const reference::AttentionRequest& r) {
  const auto largest = [](const std::vector<double>& values) {
    double most = 0;
    for (double v : values) most = std::isfinite(v) ? std::max(most, std::fabs(v)) : most;
    return most;
  };
  const double scale = r.v_head_scale.empty() ? 1 : largest(r.v_head_scale);
  return largest(r.v) * scale * std::fabs(r.v_scale);
}

TEST(AttentionTable, HoldsEveryPairOfFeatureValues) {
  const std::size_t count = table().size();
  std::cout << count << " cases in the " << (full() ? "full" : "covering") << " attention table on "
            << LibraryAttention().name() << std::endl;
  const auto least = least_counts();
  EXPECT_EQ(least.size(), 2u);
  EXPECT_GE(count, least.at(full() ? "full" : "covering"));
  EXPECT_EQ(missing_pairs(attention_features(), covering_table(attention_features())), 0);
}

TEST(AttentionTable, AgreesWithTheReference) {
  for_cases([](const AttentionCase& c, AttentionBackend& backend) {
    AttentionData data(c);
    backend.run(data);
    EXPECT_TRUE(data.gaps_untouched());
    tolerance::AttentionPrecision precision = data.precision(backend.operand(c));
    Worst worst;
    for (std::size_t b = 0; b < data.requests().size(); ++b) {
      const reference::AttentionRequest& r = data.requests()[b];
      precision.largest_value = largest_value(r);
      const reference::AttentionResult expected = reference::attention(r);
      for (std::int64_t row = 0; row < r.q_len * r.num_qo_heads; ++row) {
        const std::int64_t token = data.token_of_request(b) + row / r.num_qo_heads;
        const std::int64_t head = row % r.num_qo_heads;
        const auto at = static_cast<std::size_t>(row);
        const double logit = expected.logit_magnitude[at];
        const std::int64_t keys = expected.keys[at];
        for (std::int64_t d = 0; d < r.head_dim_vo; ++d) {
          const auto i = static_cast<std::size_t>(row * r.head_dim_vo + d);
          const double tolerance =
              keys == 0 ? 0
                        : tolerance::output(precision, expected.out[i], expected.value_magnitude[i],
                                            logit, keys);
          worst.add("out", out_at(data, token, head, d), expected.out[i], tolerance, token, head,
                    d);
        }
        if (!c.lse) continue;
        worst.add("lse", get(data.tensors.lse, {token, head}), expected.lse[at],
                  tolerance::lse(precision, expected.lse[at], logit, keys), token, head, 0);
      }
    }
    EXPECT_LE(worst.excess, 1) << worst.text;
  });
}

TEST(AttentionTable, NothingElseThanTheTokensMatters) {
  for_cases([](const AttentionCase& c, AttentionBackend& backend) {
    AttentionData clean(c, Values::random, Unused::zero);
    AttentionData poisoned(c, Values::random, c.number % 2 == 0 ? Unused::nan : Unused::infinity);
    backend.run(clean);
    backend.run(poisoned);
    EXPECT_EQ(clean.output_bytes(), poisoned.output_bytes());
  });
}

bool sees_nothing(const reference::AttentionRequest& r, std::int64_t token) {
  std::int64_t key = 0;
  while (key < r.kv_len && !reference::sees(r, token, key)) ++key;
  return key == r.kv_len;
}

TEST(AttentionTable, WeightsSumUpToOne) {
  for_cases([](const AttentionCase& c, AttentionBackend& backend) {
    if (c.sinks != Sinks::none) return;
    AttentionData data(c, Values::ones);
    backend.run(data);
    // The weights are summed twice, in different orders, in float32; then rounded to the output.
    Worst worst;
    for_rows(data, [&](const reference::AttentionRequest& r, std::int64_t row, std::int64_t token,
                       std::int64_t head) {
      const double one = r.v_scale * reference::at_or(r.v_head_scale, head / c.group, 1);
      const double rounding =
          backend.rounds_after_the_sum(c) ? tolerance::unit_roundoff(backend.operand(c)) : 0;
      const double sums = (8 + 4 * std::sqrt(static_cast<double>(r.kv_len))) * 0x1p-24 + rounding;
      const double tolerance = one * (sums + tolerance::unit_roundoff(c.out));
      const double expected = sees_nothing(r, row / r.num_qo_heads) ? 0 : one;
      for (std::int64_t d = 0; d < c.head_dim_vo; ++d) {
        worst.add("out", out_at(data, token, head, d), expected, tolerance, token, head, d);
      }
    });
    EXPECT_LE(worst.excess, 1) << worst.text;
  });
}

TEST(AttentionTable, ValuesArriveWhereTheirKeysAreSeen) {
  for_cases([](const AttentionCase& c, AttentionBackend& backend) {
    if (c.sinks != Sinks::none) return;
    AttentionData data(c, Values::payload);
    backend.run(data);
    for_rows(data, [&](const reference::AttentionRequest& r, std::int64_t row, std::int64_t token,
                       std::int64_t head) {
      const std::int64_t t = row / r.num_qo_heads, kv_head = head / c.group;
      std::int64_t key = 0;
      while (key < r.kv_len && !r.mask[static_cast<std::size_t>(t * r.kv_len + key)]) ++key;
      const double scale = r.v_scale * reference::at_or(r.v_head_scale, kv_head, 1);
      for (std::int64_t d = 0; d < c.head_dim_vo; ++d) {
        const auto at =
            static_cast<std::size_t>((key * r.num_kv_heads + kv_head) * r.head_dim_vo + d);
        const double expected = key == r.kv_len ? 0 : r.v[at] * scale;
        ASSERT_EQ(out_at(data, token, head, d), expected)
            << "token " << token << " head " << head << " column " << d << " key " << key;
      }
    });
  });
}

TEST(AttentionTable, RunsAreRepeatableToTheBit) {
  LibraryAttention library;
  for (const AttentionCase& listed : table()) {
    if (listed.number % 8 != 0) continue;
    const AttentionCase c = library.nearest(listed);
    SCOPED_TRACE(to_string(c));
    std::vector<unsigned char> first;
    for (int i = 0; i < 3; ++i) {
      AttentionData data(c);
      library.run(data);
      if (i == 0) first = data.output_bytes();
      EXPECT_EQ(data.output_bytes(), first);
    }
  }
}

}  // namespace
}  // namespace wavefire::cases
