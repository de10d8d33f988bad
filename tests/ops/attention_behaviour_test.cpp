// What attention does in cases whose answers are known in closed form, along every route.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "cases/expect_attention.h"
#include "tolerance/tolerance.h"

namespace wavefire::cases {
namespace {

TEST(AttentionBehaviour, ScalesOfQuantizedKeysAndValuesAreApplied) {
  for (DType kv : {DType::e4m3fn, DType::e5m2, DType::e4m3fnuz, DType::e5m2fnuz, DType::bf16}) {
    SCOPED_TRACE(name_of(kv));
    SmallAttention p({{1, 2}});
    p.options.q_dtype = DType::bf16;
    p.options.kv_dtype = kv;
    p.options.sm_scale = 0.125f;
    p.q = one;
    p.k = key_number;
    p.v = [](auto, std::int64_t j, auto, auto) { return 2.0 * static_cast<double>(j); };
    // Products of bf16 round the weights.
    const double error = kv == DType::bf16 ? tolerance::unit_roundoff(kv) : 1e-6;
    const auto expect_scaled = [error](const SmallResult& r) {
      // Logits 0 and 2: sigmoid(2) of the value 2 / 2.
      EXPECT_NEAR(r.at(0), 1 / (1 + std::exp(-2.0)), error);
      EXPECT_NEAR(r.lse_at(0), std::log2(1 + std::exp(2.0)), 1e-6);
    };
    p.k_scale = 0.25f;
    p.v_scale = 0.5f;
    for_routes(p, expect_scaled);
    p.k_scale = 1;
    p.v_scale = 1;
    p.k_head_scale = {0.25f};
    p.v_head_scale = {0.5f};
    for_routes(p, expect_scaled);
    p.k_head_scale = {0.5f};
    p.q_head_scale = {0.25f};
    p.q_scale = 2;
    for_routes(p, expect_scaled);
  }
}

TEST(AttentionBehaviour, SoftCapActsOnScaledLogits) {
  SmallAttention p({{1, 2}});
  p.options.logits_soft_cap = 30;
  p.q = one;
  p.k = [](auto, std::int64_t j, auto, auto) { return j == 0 ? 40.0 / 64 : 1.0; };
  p.v = key_number;
  for_routes(p, [](const SmallResult& r) {
    EXPECT_NEAR(r.at(0), 0.95556, 1e-5);
    EXPECT_NEAR(r.lse_at(0), 42.149, 1e-3);
  });
  p.options.logits_soft_cap = 0;
  for_routes(p, [](const SmallResult& r) { EXPECT_NEAR(r.at(0), 1.0, 1e-6); });
}

TEST(AttentionBehaviour, WindowCountsTheKeysBeforeTheQueryItself) {
  struct {
    std::int64_t window;
    double out, lse;
  } table[] = {{-1, 3.5, 3}, {0, 7, 0}, {2, 6, std::log2(3)}, {7, 3.5, 3}, {100, 3.5, 3}};
  for (const auto& row : table) {
    SCOPED_TRACE(row.window);
    SmallAttention decode({{1, 8}}), prefill({{5, 8}});
    for (SmallAttention* p : {&decode, &prefill}) {
      p->options.window_left = row.window;
      p->v = key_number;
      for_routes(*p, [&](const SmallResult& r) {
        const std::int64_t last = r.out.view().shape[0] - 1;
        EXPECT_NEAR(r.at(last), row.out, 1e-6);
        EXPECT_NEAR(r.lse_at(last), row.lse, 1e-6);
      });
    }
  }
}

TEST(AttentionBehaviour, EveryRowOfABlockHasAWindowOfItsOwn) {
  for (DType kv : {DType::f32, DType::e5m2}) {
    for (int q_len : {1, 2, 4, 8}) {
      for (int kv_len = 4; kv_len <= 40; kv_len += kv_len < 12 ? 1 : 7) {
        SCOPED_TRACE(::testing::Message() << q_len << " queries, " << kv_len << " keys");
        SmallAttention p({{q_len, kv_len}});
        p.options.kv_dtype = kv;
        p.options.q_dtype = DType::bf16;
        p.options.head_dim_qk = 256;
        p.options.causal = true;
        p.options.window_left = 3;
        // Exact in two bits of mantissa, so that float8 tells keys apart.
        p.v = [](auto, std::int64_t j, auto, auto) {
          return std::ldexp(1, static_cast<int>(j % 8));
        };
        for_routes(p, [&](const SmallResult& r) {
          for (std::int64_t i = 0; i < q_len; ++i) {
            double sum = 0, count = 0;
            for (std::int64_t j = i + kv_len - q_len - 3; j <= i + kv_len - q_len; ++j) {
              if (j < 0) continue;
              sum += p.v(0, j, 0, 0);
              ++count;
            }
            if (count == 0) {
              expect_empty(r, i);
            } else {
              EXPECT_NEAR(r.at(i), sum / count, 1e-5 * sum);
            }
          }
        });
      }
    }
  }
}

TEST(AttentionBehaviour, LseIsInBaseTwoHoweverTheKeysAreSplit) {
  for (int power = 0; power <= 12; ++power) {
    for (std::size_t batch : {std::size_t{1}, std::size_t{9}}) {
      SmallAttention p(std::vector<std::pair<int, int>>(batch, {1, 1 << power}));
      p.options.head_dim_qk = 8;
      p.v = one;
      for_routes(p, [&](const SmallResult& r) {
        for (std::size_t b = 0; b < batch; ++b) {
          EXPECT_EQ(r.lse_at(static_cast<std::int64_t>(b)), power);
          EXPECT_NEAR(r.at(static_cast<std::int64_t>(b)), 1, 1e-6);
        }
      });
    }
  }
}

TEST(AttentionBehaviour, ASinkTakesWeightAndCountsInTheLse) {
  struct {
    float sink;
    double out, lse;
  } table[] = {{0, 2.0 / 3, std::log2(3)},
               {-INFINITY, 1, 1},
               {static_cast<float>(std::numbers::ln2), 0.5, 2},
               {200, 0, 200 * std::numbers::log2e}};
  for (const auto& row : table) {
    SmallAttention p({{1, 2}, {3, 2}, {1, 0}});
    p.v = one;
    p.sinks = {row.sink};
    for_routes(p, [&](const SmallResult& r) {
      for (std::int64_t t = 0; t < 4; ++t) {
        EXPECT_NEAR(r.at(t), row.out, 1e-6);
        EXPECT_NEAR(r.lse_at(t), row.lse, 1e-5 * (1 + row.lse));
      }
      EXPECT_EQ(r.at(4), 0);  // nothing but the sink
      if (std::isinf(row.sink)) {
        expect_empty(r, 4);
      } else {
        EXPECT_NEAR(r.lse_at(4), row.sink * std::numbers::log2e, 1e-4);
      }
    });
  }
}

TEST(AttentionBehaviour, AnyWholeGroupSizeWorks) {
  const std::pair<int, int> head_counts[] = {{28, 4}, {24, 4}, {40, 8}, {64, 4}, {14, 2},
                                             {9, 3},  {64, 1}, {71, 1}, {96, 1}};
  for (const auto& [qo, kv] : head_counts) {
    SCOPED_TRACE(::testing::Message() << qo << " heads on " << kv);
    SmallAttention p({{1, 37}, {2, 5}});
    p.options.num_qo_heads = qo;
    p.options.num_kv_heads = kv;
    // Heads see only their own KV head's values.
    p.v = [](auto, auto, std::int64_t h, auto) { return static_cast<double>(h + 1); };
    for_routes(p, [&, group = qo / kv, heads = qo](const SmallResult& r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t t = 0; t < 3; ++t) {
          ASSERT_NEAR(r.at(t, h), static_cast<double>(h / group + 1), 1e-5);
        }
      }
    });
  }
}

TEST(AttentionBehaviour, ACausalMaskGivenAsBitsIsTheCausalMask) {
  for (int batch : {1, 2, 5, 12}) {
    SmallAttention p(std::vector<std::pair<int, int>>(static_cast<std::size_t>(batch), {37, 54}));
    p.options.num_qo_heads = p.options.num_kv_heads = 4;
    p.options.head_dim_qk = 192;
    p.options.head_dim_vo = 128;
    p.options.sm_scale = {};
    p.q = [](auto b, auto t, auto h, auto d) {
      return std::sin(0.3 * (b + 3 * t + 5 * h + 7 * d));
    };
    p.k = [](auto b, auto j, auto h, auto d) { return std::cos(0.7 * (b + 2 * j + 3 * h + d)); };
    p.v = [](auto b, auto j, auto h, auto d) { return std::sin(0.1 * (b + j * j + h + d)); };
    SmallAttention masked = p;
    p.options.causal = true;
    for (int b = 0; b < batch; ++b) {
      for (int t = 0; t < 37; ++t) {
        for (int j = 0; j < 54; ++j) masked.mask.push_back(j <= t + 54 - 37 ? 1 : 0);
      }
    }
    const Route route = all_routes()[2];
    const SmallResult a = p.run(route), b = masked.run(route);
    for (std::int64_t t = 0; t < 37 * batch; ++t) {
      for (std::int64_t h = 0; h < 4; ++h) {
        for (std::int64_t d = 0; d < 128; ++d) ASSERT_NEAR(a.at(t, h, d), b.at(t, h, d), 2e-6);
      }
    }
  }
}

TEST(AttentionBehaviour, RowsAlignAtTheEndOfTheirOwnRequest) {
  const std::pair<int, int> lengths[] = {{1, 10}, {7, 7}, {64, 200}};
  for (std::int64_t window : {std::int64_t{-1}, std::int64_t{5}}) {
    SmallAttention together({lengths[0], lengths[1], lengths[2]});
    together.options.causal = true;
    together.options.window_left = window;
    together.k = [](auto b, auto j, auto, auto d) { return std::cos(0.7 * (b + 2 * j + d)); };
    together.q = [](auto b, auto t, auto, auto d) { return std::sin(0.3 * (b + 3 * t + 7 * d)); };
    together.v = [](auto b, auto j, auto, auto) { return static_cast<double>(b * 100 + j); };
    for_routes(together, [&](const SmallResult& all) {
      std::int64_t first = 0;
      for (std::int64_t b = 0; b < 3; ++b) {
        SmallAttention alone({lengths[b]});
        alone.options = together.options;
        const auto of_request = [b](const SmallAttention::Formula& f) {
          return [f, b](auto, auto i, auto h, auto d) { return f(b, i, h, d); };
        };
        alone.q = of_request(together.q);
        alone.k = of_request(together.k);
        alone.v = of_request(together.v);
        const SmallResult r = alone.run(all_routes()[0]);
        for (std::int64_t t = 0; t < lengths[b].first; ++t) {
          ASSERT_NEAR(all.at(first + t), r.at(t), 3e-4);
          ASSERT_NEAR(all.lse_at(first + t), r.lse_at(t), 1e-5);
        }
        first += lengths[b].first;
      }
    });
  }
}

TEST(AttentionBehaviour, ThePageSizeDoesNotMatter) {
  for (int keys : {1, 127, 128, 129, 1000}) {
    SmallAttention p({{1, keys}, {3, keys}});
    p.k = [](auto, auto j, auto, auto d) { return std::cos(0.7 * (2 * j + d)); };
    p.q = [](auto, auto t, auto, auto d) { return std::sin(0.3 * (3 * t + 7 * d)); };
    p.v = [](auto, auto j, auto, auto d) { return std::sin(0.01 * (j + d)); };
    const SmallResult rows = p.run({"ragged"});
    for (int page_size : {1, 2, 3, 5, 7, 16, 64, 128, 256, 512, 1024}) {
      const SmallResult pages = p.run({"paged", page_size});
      EXPECT_TRUE(std::ranges::equal(rows.out.bytes(), pages.out.bytes())) << page_size;
      EXPECT_TRUE(std::ranges::equal(rows.lse.bytes(), pages.lse.bytes())) << page_size;
    }
  }
}

TEST(AttentionBehaviour, FixedSplitsMakeARequestIndependentOfItsBatch) {
  for (std::int64_t window : {std::int64_t{-1}, std::int64_t{700}}) {
    std::vector<std::pair<int, int>> lengths{{30, 1500}};
    SmallAttention alone(lengths);
    alone.options.causal = true;
    alone.options.window_left = window;
    alone.k = [](auto, auto j, auto, auto d) { return std::cos(0.7 * (2 * j + d)); };
    alone.q = [](auto, auto t, auto, auto d) { return std::sin(0.3 * (3 * t + 7 * d)); };
    alone.v = [](auto, auto j, auto, auto d) { return std::sin(0.01 * (j + d)); };
    SmallAttention first = alone, last = alone;
    for (int i = 0; i < 20; ++i) lengths.emplace_back(1, 40 + i);
    first.lengths = lengths;
    std::ranges::reverse(lengths);
    last.lengths = lengths;
    const Route fixed{"pages of 16", 16, KvLayout::nhd, 3, 256};
    const SmallResult a = alone.run(fixed), b = first.run(fixed), c = last.run(fixed);
    EXPECT_GT(a.joins, 0);
    const std::size_t bytes = a.out.bytes().size();
    EXPECT_TRUE(std::ranges::equal(a.out.bytes(), b.out.bytes().first(bytes)));
    EXPECT_TRUE(std::ranges::equal(a.out.bytes(), c.out.bytes().last(bytes)));
  }
}

TEST(AttentionBehaviour, SlopesFollowThePaperForAnyNumberOfHeads) {
  const auto slopes = [](int heads) {
    std::vector<float> values(static_cast<std::size_t>(heads));
    alibi_slopes(heads, values.data());
    return values;
  };
  EXPECT_EQ(slopes(7),
            std::vector<float>({.25f, .0625f, .015625f, .00390625f, .5f, .125f, .03125f}));
  const std::vector<float> twelve = slopes(12);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(twelve[static_cast<std::size_t>(i)], std::exp2(-1.f - static_cast<float>(i)));
  }
  for (int i = 8; i < 12; ++i) {
    EXPECT_FLOAT_EQ(twelve[static_cast<std::size_t>(i)],
                    std::exp2(-0.5f - static_cast<float>(i - 8)));
  }
}

TEST(AttentionBehaviour, GivenSlopesServeAShardOfTheHeads) {
  SmallAttention whole({{3, 50}});
  whole.options.num_qo_heads = whole.options.num_kv_heads = 8;
  whole.options.position_mode = PositionMode::alibi;
  whole.v = key_number;
  SmallAttention shard = whole;
  shard.options.num_qo_heads = shard.options.num_kv_heads = 4;
  std::vector<float> slopes(8);
  alibi_slopes(8, slopes.data());
  shard.alibi_slopes.assign(slopes.begin() + 4, slopes.end());
  const SmallResult all = whole.run(all_routes()[4]), half = shard.run(all_routes()[4]);
  for (std::int64_t t = 0; t < 3; ++t) {
    for (std::int64_t h = 0; h < 4; ++h) EXPECT_NEAR(all.at(t, h + 4), half.at(t, h), 1e-4);
  }
}

/// Every argument that is accepted is applied: each changes the answer.
TEST(AttentionBehaviour, EveryOptionActs) {
  SmallAttention p({{9, 40}, {1, 40}});
  p.options.num_qo_heads = 2;
  p.options.sm_scale = 0.3f;
  p.k = [](auto, auto j, auto, auto d) { return std::cos(0.7 * (2 * j + d)); };
  p.q = [](auto, auto t, auto h, auto d) { return std::sin(0.3 * (3 * t + 7 * d + h)); };
  p.v = [](auto, auto j, auto, auto d) { return std::sin(0.05 * (j + d)); };
  using Change = std::function<void(SmallAttention&)>;
  const auto rope = [](SmallAttention& a) { a.options.position_mode = PositionMode::rope_llama; };
  const auto smoothed = [&](SmallAttention& a) {
    rope(a);
    a.options.rope = {8.f, 1e4f, 1.f, 4.f, 64.f};
  };
  const std::pair<Change, Change> changes[] = {
      {{}, [](SmallAttention& a) { a.options.causal = true; }},
      {{}, [](SmallAttention& a) { a.options.window_left = 4; }},
      {{}, [](SmallAttention& a) { a.options.sm_scale = 0.4f; }},
      {{}, [](SmallAttention& a) { a.options.sm_scale.reset(); }},
      {{}, [](SmallAttention& a) { a.options.logits_soft_cap = 0.5f; }},
      {{}, [](SmallAttention& a) { a.options.position_mode = PositionMode::alibi; }},
      {{}, rope},
      {rope, [&](SmallAttention& a) { rope(a), a.options.rope.scale = 2; }},
      {rope, [&](SmallAttention& a) { rope(a), a.options.rope.theta = 1e3f; }},
      {rope, smoothed},
      {smoothed, [&](SmallAttention& a) { smoothed(a), a.options.rope.low_freq_factor = 2; }},
      {smoothed, [&](SmallAttention& a) { smoothed(a), a.options.rope.high_freq_factor = 8; }},
      {smoothed, [&](SmallAttention& a) { smoothed(a), a.options.rope.old_context_len = 128; }},
      {{}, [](SmallAttention& a) { a.q_scale = 2; }},
      {{}, [](SmallAttention& a) { a.k_scale = 2; }},
      {{}, [](SmallAttention& a) { a.v_scale = 2; }},
      {{}, [](SmallAttention& a) { a.q_head_scale = {2, 3}; }},
      {{}, [](SmallAttention& a) { a.k_head_scale = {2}; }},
      {{}, [](SmallAttention& a) { a.v_head_scale = {2}; }},
      {{}, [](SmallAttention& a) { a.sinks = {1, 2}; }},
      {[](SmallAttention& a) { a.options.position_mode = PositionMode::alibi; },
       [](SmallAttention& a) {
         a.options.position_mode = PositionMode::alibi;
         a.alibi_slopes = {0.3f, 0.2f};
       }},
      {{}, [](SmallAttention& a) { a.mask.assign(400, 1), a.mask[0] = a.mask[395] = 0; }},
  };
  int number = 0;
  for (const auto& [before, after] : changes) {
    SCOPED_TRACE(number++);
    SmallAttention a = p, b = p;
    if (before) before(a);
    after(b);
    for (const Route& route : all_routes()) {
      const SmallResult x = a.run(route), y = b.run(route);
      double decode = 0, prefill = 0;
      for (std::int64_t h = 0; h < 2; ++h) {
        prefill = std::fmax(prefill, std::fabs(x.at(0, h) - y.at(0, h)));
        decode = std::fmax(decode, std::fabs(x.at(9, h) - y.at(9, h)));
      }
      EXPECT_GT(prefill, 1e-5) << route.name;
      if (b.options.causal) continue;  // the last row sees all
      EXPECT_GT(decode, 1e-5) << route.name;
    }
  }
}

}  // namespace
}  // namespace wavefire::cases
