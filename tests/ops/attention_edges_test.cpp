// Rows and requests that see nothing, numbers that are not finite, the ends of tiles.
#include <cmath>
#include <numbers>

#include "cases/expect_attention.h"

namespace wavefire::cases {
namespace {

TEST(AttentionEdges, LogitsFarBelowZeroAreNotTakenForMasked) {
  for (DType dtype : {DType::bf16, DType::f32}) {
    for (int keys : {1, 2, 40}) {
      SmallAttention p({{1, keys}, {3, keys}});
      p.options.head_dim_qk = 128;
      p.options.sm_scale = {};
      p.options.q_dtype = p.options.kv_dtype = p.options.o_dtype = dtype;
      p.q = [](auto...) { return 64.0; };
      p.k = [](auto...) { return -64.0; };
      p.v = one;
      const double logit = -64.0 * 64 * 128 / std::sqrt(128.0);
      for_routes(p, [&](const SmallResult& r) {
        for (std::int64_t t = 0; t < 4; ++t) {
          EXPECT_NEAR(r.at(t), 1, 1e-6);
          EXPECT_NEAR(r.lse_at(t), logit * std::numbers::log2e + std::log2(keys), 0.02);
        }
      });
    }
  }
}

TEST(AttentionEdges, RowsBeforeTheFirstKeyAreEmpty) {
  SmallAttention p({{5, 2}});
  p.options.causal = true;
  p.v = one;
  for_routes(p, [](const SmallResult& r) {
    for (std::int64_t t = 0; t < 3; ++t) expect_empty(r, t);
    EXPECT_EQ(r.at(3), 1);
    EXPECT_EQ(r.lse_at(3), 0);
    EXPECT_NEAR(r.at(4), 1, 1e-6);
    EXPECT_EQ(r.lse_at(4), 1);
  });
}

TEST(AttentionEdges, RequestsWithoutKeysAreEmptyAndDisturbNobody) {
  for (int q_len : {1, 2}) {
    for (bool causal : {false, true}) {
      SmallAttention p({{q_len, 0}, {q_len, 5}, {q_len, 1}});
      p.options.causal = causal;
      p.v = one;
      for_routes(p, [&](const SmallResult& r) {
        for (std::int64_t t = 0; t < q_len; ++t) expect_empty(r, t);
        for (std::int64_t t = q_len; t < 2 * q_len; ++t) EXPECT_NEAR(r.at(t), 1, 1e-6);
        EXPECT_EQ(r.at(3 * q_len - 1), 1);
      });
    }
  }
}

// Few rows and many go to two kernels. An odd number of partial rows of the first used to leave
// the second one's at odd addresses.
TEST(AttentionEdges, BothKernelsOfABatchSplit) {
  SmallAttention p({{3, 700}, {33, 700}});
  p.v = [](auto request, auto key, auto, auto column) { return request + key % 2 + column % 3; };
  for_routes(p, [&](const SmallResult& r) {
    for (std::int64_t t = 0; t < 36; ++t) {
      for (std::int64_t d : {0, 1, 63}) EXPECT_NEAR(r.at(t, 0, d), (t >= 3) + 0.5 + d % 3, 1e-5);
      EXPECT_NEAR(r.lse_at(t), std::log2(700.0), 1e-5);
    }
  });
}

TEST(AttentionEdges, EmptyBatchesAreOrdinary) {
  using Lengths = std::vector<std::pair<int, int>>;
  for (const Lengths& lengths :
       {Lengths{}, Lengths{{0, 4}, {0, 0}}, Lengths{{0, 0}}, Lengths{{2, 0}, {1, 0}}}) {
    SmallAttention p(lengths);
    for_routes(p, [&](const SmallResult& r) {
      for (std::int64_t t = 0; t < r.out.view().shape[0]; ++t) expect_empty(r, t);
    });
  }
}

TEST(AttentionEdges, KeysPastTheEndOfATileDoNotCount) {
  for (int keys : {1, 15, 17, 31, 33, 255, 256, 257, 300, 1000}) {
    for (int q_len : {1, 30}) {
      SCOPED_TRACE(keys);
      SmallAttention p({{q_len, keys}});
      p.options.head_dim_qk = 128;
      p.v = key_number;
      for_routes(p, [&](const SmallResult& r) {
        for (std::int64_t t = 0; t < q_len; ++t) {
          ASSERT_NEAR(r.at(t), (keys - 1) / 2.0, 1e-6 * keys);
        }
      });
    }
  }
}

TEST(AttentionEdges, RowsThatAMaskEmptiesAreEmpty) {
  SmallAttention p({{8, 8}});
  p.v = one;
  for (int i = 0; i < 64; ++i) p.mask.push_back(i < 32 ? 1 : 0);
  for_routes(p, [](const SmallResult& r) {
    for (std::int64_t t = 0; t < 4; ++t) EXPECT_NEAR(r.at(t), 1, 1e-6);
    for (std::int64_t t = 4; t < 8; ++t) expect_empty(r, t);
  });
}

TEST(AttentionEdges, NanInKeysThatNobodySeesStaysThere) {
  // Key 2 is masked for every row, key 6 for the first half.
  for (int q_len : {1, 6, 40}) {
    SmallAttention p({{q_len, 70}});
    for (int t = 0; t < q_len; ++t) {
      for (int j = 0; j < 70; ++j) p.mask.push_back(j == 2 || (j == 6 && 2 * t < q_len) ? 0 : 1);
    }
    for (double poison : {NAN, INFINITY}) {
      for (bool keys : {false, true}) {
        const auto formula = [=](auto, std::int64_t j, auto, auto) {
          return j == 2 ? poison : 0.5;
        };
        p.k = keys ? SmallAttention::Formula(formula) : SmallAttention::Formula(one);
        p.v = keys ? SmallAttention::Formula(one) : SmallAttention::Formula(formula);
        for_routes(p, [&](const SmallResult& r) {
          for (std::int64_t t = 0; t < q_len; ++t) {
            ASSERT_NEAR(r.at(t), keys ? 1 : 0.5, 1e-6) << "token " << t;
          }
        });
        // Seen by some rows of a tile: the others stay clean.
        p.v = [=](auto, std::int64_t j, auto, auto) { return j == 6 ? poison : 0.5; };
        p.k = one;
        for_routes(p, [&](const SmallResult& r) {
          for (std::int64_t t = 0; t < q_len; ++t) {
            if (2 * t < q_len) {
              ASSERT_NEAR(r.at(t), 0.5, 1e-6) << "token " << t;
            } else {
              ASSERT_FALSE(std::isfinite(r.at(t))) << "token " << t;
            }
          }
        });
      }
    }
  }
}

TEST(AttentionEdges, NanThatARowSeesReachesItAndNoOtherRequest) {
  for (int q_len : {1, 20}) {
    for (int where : {0, 1, 2}) {  // query, key, value
      SmallAttention p({{q_len, 33}, {q_len, 33}, {q_len, 1}});
      const auto poisoned = [](std::int64_t request) {
        return [request](std::int64_t b, std::int64_t i, auto, std::int64_t d) {
          return b == request && i == 0 && d == 3 ? NAN : 1.0;
        };
      };
      p.q = where == 0 ? SmallAttention::Formula(poisoned(0)) : SmallAttention::Formula(one);
      p.k = where == 1 ? SmallAttention::Formula(poisoned(0)) : SmallAttention::Formula(one);
      p.v = where == 2 ? SmallAttention::Formula(poisoned(0)) : SmallAttention::Formula(one);
      p.q_scale = 0.01f;
      for_routes(p, [&](const SmallResult& r) {
        ASSERT_TRUE(std::isnan(r.at(0, 0, 3))) << "poison " << where;
        for (std::int64_t t = q_len; t < 3 * q_len; ++t) {
          for (std::int64_t d = 0; d < 64; ++d) ASSERT_NEAR(r.at(t, 0, d), 1, 1e-6);
        }
      });
      // A single key: nothing else hides it.
      p.q = where == 0 ? SmallAttention::Formula(poisoned(2)) : SmallAttention::Formula(one);
      p.k = where == 1 ? SmallAttention::Formula(poisoned(2)) : SmallAttention::Formula(one);
      p.v = where == 2 ? SmallAttention::Formula(poisoned(2)) : SmallAttention::Formula(one);
      for_routes(p, [&](const SmallResult& r) {
        ASSERT_TRUE(std::isnan(r.at(2 * q_len, 0, 3))) << "poison " << where;
        EXPECT_NEAR(r.at(0), 1, 1e-6);
      });
    }
  }
}

}  // namespace
}  // namespace wavefire::cases
