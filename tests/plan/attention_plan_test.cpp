#include "plan/attention_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>

#include "wavefire/error.h"

namespace {

using namespace wavefire;
using attention::PlanTraits;
using attention::Request;
using plan::AttentionPlan;

AttentionPlan make(const PlanTraits& traits, std::vector<std::pair<int, int>> lengths) {
  AttentionPlan p;
  p.traits = traits;
  i64 q = 0, kv = 0;
  for (auto [q_len, kv_len] : lengths) {
    p.requests.push_back({q, kv, 0, q_len, kv_len});
    q += q_len;
    kv += kv_len;
  }
  plan::make_attention_plan(p);
  return p;
}

/// Independent of the planner: is key `kv` visible to query token `q`?
bool sees(const PlanTraits& t, const Request& r, i64 q, i64 kv) {
  const i64 aligned = q + r.kv_len - r.q_len;
  return (t.causal == 0 || kv <= aligned) && (t.window_left < 0 || kv >= aligned - t.window_left);
}

/// Marks every (packed row, key) pair of every item.
void expect_each_pair_once(const AttentionPlan& p) {
  const PlanTraits& t = p.traits;
  for (std::size_t r = 0; r < p.requests.size(); ++r) {
    const Request& request = p.requests[r];
    const std::size_t rows = static_cast<std::size_t>(request.q_len) * t.group;
    const auto keys = static_cast<std::size_t>(request.kv_len);
    std::vector<int> given(rows * t.num_kv_heads * keys), written(rows * t.num_kv_heads);
    for (const auto& item : p.items) {
      if (item.request != static_cast<i32>(r)) continue;
      for (i32 row = item.row_begin; row < item.row_begin + item.row_count; ++row) {
        const std::size_t at = static_cast<std::size_t>(item.kv_head) * rows + row;
        ++written[at];
        for (i32 kv = item.kv_begin; kv < item.kv_end; ++kv) ++given[at * keys + kv];
      }
    }
    for (std::size_t at = 0; at < written.size(); ++at) {
      ASSERT_GE(written[at], 1);  // also rows that see nothing are written
      const i64 token = static_cast<i64>(at % rows) / t.group;
      for (std::size_t kv = 0; kv < keys; ++kv) {
        const int times = given[at * keys + kv];
        ASSERT_LE(times, 1);
        if (sees(t, request, token, static_cast<i64>(kv))) {
          ASSERT_EQ(times, 1);
        }
      }
    }
  }
}

void expect_joins_match(const AttentionPlan& p) {
  std::map<i32, std::set<i32>> parts;
  for (const auto& item : p.items) {
    ASSERT_EQ(item.join < 0, item.partial < 0);
    if (item.join >= 0) {
      ASSERT_TRUE(parts[item.join].insert(item.partial).second);
    }
  }
  ASSERT_EQ(parts.size(), p.joins.size());
  std::set<i32> rows;
  for (std::size_t j = 0; j < p.joins.size(); ++j) {
    const auto& join = p.joins[j];
    ASSERT_EQ(parts[static_cast<i32>(j)].size(), static_cast<std::size_t>(join.parts));
    for (int part = 0; part < join.parts; ++part) {
      ASSERT_TRUE(parts[static_cast<i32>(j)].contains(join.partial + part * join.row_count));
      for (int row = 0; row < join.row_count; ++row) {
        ASSERT_TRUE(rows.insert(join.partial + part * join.row_count + row).second);
      }
    }
  }
  ASSERT_EQ(static_cast<i64>(rows.size()), p.partial_rows);
}

void expect_balanced(const AttentionPlan& p) {
  const auto loads = plan::worker_loads(p);
  const i64 longest = *std::max_element(loads.begin(), loads.end());
  const i64 bound = plan::load_bound(p);
  EXPECT_LE(longest, bound + plan::granularity(p)) << plan::to_string(p);
  if (bound >= 10 * plan::granularity(p)) {
    EXPECT_LE(longest * 10, bound * 11) << plan::to_string(p);
  }
}

TEST(AttentionPlan, SplitsOneLongRequestEvenly) {
  const auto p =
      make({.tile_rows = 16, .tile_kv = 32, .workers = 2, .item_overhead = 0}, {{1, 256}});
  EXPECT_EQ(plan::to_string(p),
            "worker 0: request 0 head 0 rows [0, 1) keys [0, 128) -> partial 0, join 0\n"
            "worker 1: request 0 head 0 rows [0, 1) keys [128, 256) -> partial 1, join 0\n");
}

TEST(AttentionPlan, LeavesWholeWhatNeedsNoCut) {
  const auto p = make({.num_kv_heads = 2, .tile_rows = 16, .tile_kv = 32, .workers = 2}, {{1, 96}});
  EXPECT_EQ(plan::to_string(p),
            "worker 0: request 0 head 0 rows [0, 1) keys [0, 96)\n"
            "worker 1: request 0 head 1 rows [0, 1) keys [0, 96)\n");
}

TEST(AttentionPlan, DealsTheLongUnitsOfEachRequestFirst) {
  const auto p = make({.tile_rows = 4,
                       .tile_kv = 4,
                       .workers = 2,
                       .causal = 1,
                       .item_overhead = 0,
                       .deal_first = 1},
                      {{12, 12}, {12, 12}});
  // Units of 3, 2, 1, 3, 2, 1 tiles; a worker takes six.
  EXPECT_EQ(plan::to_string(p),
            "worker 0: request 0 head 0 rows [8, 12) keys [0, 12)\n"
            "worker 0: request 1 head 0 rows [8, 12) keys [0, 12)\n"
            "worker 1: request 0 head 0 rows [4, 8) keys [0, 8)\n"
            "worker 1: request 0 head 0 rows [0, 4) keys [0, 4)\n"
            "worker 1: request 1 head 0 rows [4, 8) keys [0, 8)\n"
            "worker 1: request 1 head 0 rows [0, 4) keys [0, 4)\n");
}

TEST(AttentionPlan, DealsTheHeadsOfAGroupTileByTile) {
  const auto p = make({.num_kv_heads = 4,
                       .tile_rows = 4,
                       .tile_kv = 4,
                       .workers = 2,
                       .causal = 1,
                       .item_overhead = 0,
                       .deal_first = 1},
                      {{8, 8}});
  // Two heads have two units for each worker: 2, 2, 1, 1 tiles, twice.
  EXPECT_EQ(plan::to_string(p),
            "worker 0: request 0 head 0 rows [4, 8) keys [0, 8)\n"
            "worker 0: request 0 head 0 rows [0, 4) keys [0, 4)\n"
            "worker 0: request 0 head 2 rows [4, 8) keys [0, 8)\n"
            "worker 0: request 0 head 2 rows [0, 4) keys [0, 4)\n"
            "worker 1: request 0 head 1 rows [4, 8) keys [0, 8)\n"
            "worker 1: request 0 head 1 rows [0, 4) keys [0, 4)\n"
            "worker 1: request 0 head 3 rows [4, 8) keys [0, 8)\n"
            "worker 1: request 0 head 3 rows [0, 4) keys [0, 4)\n");
}

/// 4096 tokens, causal, 16 heads of 256 dims on 132 multiprocessors: cuts used to cost a sixth.
TEST(AttentionPlan, LeavesUnitsWholeWhereTheyBalance) {
  const auto p = make({.num_kv_heads = 16,
                       .tile_rows = 128,
                       .tile_kv = 64,
                       .workers = 132,
                       .causal = 1,
                       .deal_first = 1},
                      {{4096, 4096}});
  EXPECT_EQ(p.items.size(), 512u);
  EXPECT_TRUE(p.joins.empty());
  const auto loads = plan::worker_loads(p);
  EXPECT_LE(*std::max_element(loads.begin(), loads.end()) * 100, plan::load_bound(p) * 103);
}

TEST(AttentionPlan, FillsUpWorkersWithTheUnitsThatAreLeft) {
  const auto p =
      make({.tile_rows = 4, .tile_kv = 4, .workers = 2, .item_overhead = 0, .deal_first = 1},
           {{12, 16}});
  EXPECT_EQ(plan::to_string(p),
            "worker 0: request 0 head 0 rows [8, 12) keys [0, 16)\n"
            "worker 0: request 0 head 0 rows [0, 4) keys [0, 8) -> partial 0, join 0\n"
            "worker 1: request 0 head 0 rows [4, 8) keys [0, 16)\n"
            "worker 1: request 0 head 0 rows [0, 4) keys [8, 16) -> partial 4, join 0\n");
}

TEST(AttentionPlan, SkipsKeysBehindTheDiagonalAndBeforeTheWindow) {
  const auto p = make({.tile_rows = 4, .tile_kv = 4, .causal = 1, .window_left = 1}, {{8, 8}});
  EXPECT_EQ(plan::to_string(p),
            "worker 0: request 0 head 0 rows [0, 4) keys [0, 4)\n"
            "worker 0: request 0 head 0 rows [4, 8) keys [3, 8)\n");
}

TEST(AttentionPlan, RowsThatSeeNothingAreStillWritten) {
  const auto p = make({.tile_rows = 4, .tile_kv = 4, .causal = 1}, {{3, 0}, {0, 5}, {5, 2}});
  EXPECT_EQ(plan::to_string(p),
            "worker 0: request 0 head 0 rows [0, 3) keys [0, 0)\n"
            "worker 0: request 2 head 0 rows [0, 4) keys [0, 1)\n"
            "worker 0: request 2 head 0 rows [4, 5) keys [0, 2)\n");
}

TEST(AttentionPlan, FixedSplitsDoNotDependOnTheBatch) {
  const PlanTraits t{.tile_rows = 4, .tile_kv = 4, .workers = 3, .fixed_split_kv = 64};
  const auto cuts = [](const AttentionPlan& p, i32 request) {
    std::set<std::pair<i32, i32>> ranges;
    for (const auto& item : p.items) {
      if (item.request == request) ranges.insert({item.kv_begin, item.kv_end});
    }
    return ranges;
  };
  const auto alone = cuts(make(t, {{1, 300}}), 0);
  EXPECT_EQ(alone.size(), 5u);
  EXPECT_EQ(alone, cuts(make(t, {{1, 7}, {9, 1000}, {1, 300}, {1, 64}}), 2));
}

TEST(AttentionPlan, NeverSplitsWhereThatIsForbidden) {
  const auto p = make({.tile_rows = 4, .tile_kv = 4, .workers = 8, .allow_split = 0}, {{1, 9999}});
  EXPECT_EQ(p.items.size(), 1u);
}

TEST(AttentionPlan, NoRequestsNoWork) {
  const auto p = make({.workers = 3}, {});
  EXPECT_TRUE(p.items.empty());
  EXPECT_EQ(p.worker_begin, std::vector<i32>({0, 0, 0, 0}));
}

TEST(AttentionPlan, APlanThatDoesNotFitNamesTheCapacity) {
  AttentionPlan p;
  p.traits = {.tile_rows = 4, .tile_kv = 4};
  p.requests.assign(5, Request{0, 0, 0, 1, 10});
  const plan::Capacity capacity{3, 3, 100};
  try {
    plan::make_attention_plan(p, &capacity);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("item capacity"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("5 needed, 3 available"), std::string::npos);
  }
}

struct Dice {
  std::mt19937 engine;
  int operator()(int low, int high) { return std::uniform_int_distribution(low, high)(engine); }
};

AttentionPlan random_plan(Dice& dice) {
  PlanTraits t;
  t.num_kv_heads = dice(1, 4);
  t.group = dice(1, 16);
  t.tile_rows = dice(1, 70);
  t.tile_kv = dice(1, 40);
  t.workers = dice(0, 3) == 0 ? dice(1, 300) : dice(1, 8);
  t.causal = dice(0, 1);
  t.window_left = dice(0, 2) == 0 ? dice(0, 60) : -1;
  t.fixed_split_kv = dice(0, 3) == 0 ? dice(1, 80) : 0;
  t.allow_split = dice(0, 4) == 0 ? 0 : 1;
  t.item_overhead = dice(0, 2);
  t.row_overhead = dice(0, 12);
  t.deal_first = dice(0, 2) == 0 ? 1 : 0;
  std::vector<std::pair<int, int>> lengths(static_cast<std::size_t>(dice(0, 6)));
  for (auto& [q, kv] : lengths) {
    q = dice(0, 3) == 0 ? dice(0, 40) : dice(0, 2);
    kv = dice(0, 4) == 0 ? dice(0, 2) : dice(0, 300);
  }
  return make(t, lengths);
}

TEST(AttentionPlanProperties, EveryPairIsGivenOutExactlyOnce) {
  Dice dice{std::mt19937(1)};
  for (int i = 0; i < 2500; ++i) {
    SCOPED_TRACE(i);
    const AttentionPlan p = random_plan(dice);
    expect_each_pair_once(p);
    expect_joins_match(p);
    if (HasFatalFailure()) FAIL() << plan::to_string(p);
  }
}

TEST(AttentionPlanProperties, TheSameProblemGivesTheSamePlan) {
  Dice a{std::mt19937(2)}, b{std::mt19937(2)};
  for (int i = 0; i < 300; ++i) {
    const AttentionPlan p = random_plan(a);
    AttentionPlan again = random_plan(b);
    plan::make_attention_plan(again);  // reused buffers
    EXPECT_EQ(plan::to_string(p), plan::to_string(again));
  }
}

TEST(AttentionPlanProperties, TheLongestWorkerIsNearTheBound) {
  Dice dice{std::mt19937(3)};
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    AttentionPlan p = random_plan(dice);
    p.traits.fixed_split_kv = 0;
    p.traits.allow_split = 1;
    plan::make_attention_plan(p);
    expect_balanced(p);
    if (HasFailure()) FAIL();
  }
}

TEST(AttentionPlanProperties, ALongBatchIsBalancedWithItsOverheads) {
  Dice dice{std::mt19937(4)};
  for (int workers : {2, 64, 132, 304}) {
    std::vector<std::pair<int, int>> lengths(256);
    for (auto& [q, kv] : lengths) q = 1, kv = dice(1, 32768);
    const auto p =
        make({.num_kv_heads = 8, .group = 4, .tile_rows = 16, .tile_kv = 64, .workers = workers},
             lengths);
    expect_balanced(p);
  }
}

// The planner's own time for 256 requests x 8 heads; the limit of 50 us holds from Python in an
// optimised build, here it is ten times that so that busy machines pass, and sanitizers add theirs.
TEST(AttentionPlan, PlansABatchInMicroseconds) {
  AttentionPlan p;
  p.traits = {.num_kv_heads = 8, .group = 4, .tile_rows = 16, .tile_kv = 64, .workers = 132};
  for (i32 r = 0; r < 256; ++r) p.requests.push_back({r, 0, 0, 1, 100 + r * 37});
  double best = 1;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    plan::make_attention_plan(p);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  RecordProperty("microseconds", std::to_string(best * 1e6));
#ifdef WAVEFIRE_SANITIZED
  EXPECT_LT(best, 5000e-6);
#else
  EXPECT_LT(best, 500e-6);
#endif
}

}  // namespace
