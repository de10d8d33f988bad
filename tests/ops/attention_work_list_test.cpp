// The contract of the work list, by an executor that knows nothing else: in double precision, one
// worker after the other in any order, it must give what attention gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "plan/attention_plan.h"
#include "reference/attention.h"

namespace wavefire {
namespace {

using attention::Join;
using attention::PlanTraits;
using attention::WorkItem;
using reference::AttentionRequest;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The result of one packed row over some keys.
struct RowState {
  std::vector<double> out;
  double lse = -infinity;  // base 2
};

RowState merge(const std::vector<RowState>& states) {
  RowState merged = states.front();
  double top = -infinity, total = 0;
  for (const RowState& state : states) top = std::fmax(top, state.lse);
  if (top == -infinity) return merged;
  std::fill(merged.out.begin(), merged.out.end(), 0.0);
  for (const RowState& state : states) {
    const double weight = std::exp2(state.lse - top);
    total += weight;
    for (std::size_t d = 0; d < merged.out.size(); ++d) merged.out[d] += weight * state.out[d];
  }
  for (double& x : merged.out) x /= total;
  merged.lse = top + std::log2(total);
  return merged;
}

/// A batch whose planner sees bundles of `heads_per_item` KV heads.
class Executor {
 public:
  Executor(const PlanTraits& traits, const std::vector<AttentionRequest>& requests,
           int heads_per_item)
      : requests_(requests), heads_per_item_(heads_per_item) {
    plan_.traits = traits;
    for (const AttentionRequest& r : requests) {
      plan_.requests.push_back({0, 0, 0, static_cast<i32>(r.q_len), static_cast<i32>(r.kv_len)});
      results_.emplace_back(static_cast<std::size_t>(r.q_len * r.num_qo_heads));
    }
    plan::make_attention_plan(plan_);
    partial_.resize(static_cast<std::size_t>(plan_.partial_rows * heads_per_item));
    arrivals_.resize(plan_.joins.size());
  }

  /// Executes the workers in the given order.
  void run(const std::vector<int>& order) {
    for (int worker : order) {
      for (const WorkItem& item : plan_.items_of(worker)) {
        for (int head = 0; head < heads_per_item_; ++head) execute(item, head);
        if (item.join < 0) continue;
        const Join& join = plan_.joins[static_cast<std::size_t>(item.join)];
        if (++arrivals_[static_cast<std::size_t>(item.join)] == join.parts) join_parts(join);
      }
    }
  }
  const plan::AttentionPlan& plan() const { return plan_; }
  const RowState& result(std::size_t request, std::int64_t row) const {
    return results_[request][static_cast<std::size_t>(row)];
  }

 private:
  /// Where the result of a packed row belongs: [token, query head].
  RowState& place(i32 request, std::int64_t kv_head, std::int64_t packed_row) {
    const AttentionRequest& r = requests_[static_cast<std::size_t>(request)];
    const std::int64_t group = r.num_qo_heads / r.num_kv_heads;
    const std::int64_t token = packed_row / group, head = kv_head * group + packed_row % group;
    return results_[static_cast<std::size_t>(request)]
                   [static_cast<std::size_t>(token * r.num_qo_heads + head)];
  }
  void write(RowState& to, RowState state) {
    EXPECT_TRUE(to.out.empty()) << "written twice";
    to = std::move(state);
  }

  void execute(const WorkItem& item, int head_of_item) {
    const AttentionRequest& whole = requests_[static_cast<std::size_t>(item.request)];
    const std::int64_t kv_head = std::int64_t{item.kv_head} * heads_per_item_ + head_of_item;
    for (i32 i = 0; i < item.row_count; ++i) {
      RowState state = attend(whole, kv_head, item.row_begin + i, item.kv_begin, item.kv_end);
      if (item.partial < 0) {
        write(place(item.request, kv_head, item.row_begin + i), std::move(state));
      } else {
        const std::int64_t at = std::int64_t{item.partial} * heads_per_item_ +
                                std::int64_t{head_of_item} * item.row_count + i;
        write(partial_.at(static_cast<std::size_t>(at)), std::move(state));
      }
    }
  }

  void join_parts(const Join& join) {
    for (int head = 0; head < heads_per_item_; ++head) {
      for (i32 row = 0; row < join.row_count; ++row) {
        std::vector<RowState> states;
        for (i32 part = 0; part < join.parts; ++part) {
          const std::int64_t at =
              (std::int64_t{join.partial} + std::int64_t{part} * join.row_count) * heads_per_item_ +
              std::int64_t{head} * join.row_count + row;
          states.push_back(partial_.at(static_cast<std::size_t>(at)));
        }
        write(place(join.request, std::int64_t{join.kv_head} * heads_per_item_ + head,
                    join.row_begin + row),
              merge(states));
      }
    }
  }

  /// One packed row over the keys [begin, end) that it sees.
  static RowState attend(const AttentionRequest& r, std::int64_t kv_head, std::int64_t packed_row,
                         std::int64_t begin, std::int64_t end) {
    const std::int64_t group = r.num_qo_heads / r.num_kv_heads;
    const std::int64_t token = packed_row / group, head = kv_head * group + packed_row % group;
    RowState state{std::vector<double>(static_cast<std::size_t>(r.head_dim_vo))};
    double total = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      if (!reference::sees(r, token, j)) continue;
      double logit = 0;
      for (std::int64_t d = 0; d < r.head_dim_qk; ++d) {
        logit +=
            r.q[static_cast<std::size_t>((token * r.num_qo_heads + head) * r.head_dim_qk + d)] *
            r.k[static_cast<std::size_t>((j * r.num_kv_heads + kv_head) * r.head_dim_qk + d)];
      }
      const double weight = std::exp(logit);
      total += weight;
      for (std::int64_t d = 0; d < r.head_dim_vo; ++d) {
        state.out[static_cast<std::size_t>(d)] +=
            weight *
            r.v[static_cast<std::size_t>((j * r.num_kv_heads + kv_head) * r.head_dim_vo + d)];
      }
    }
    if (total == 0) return state;
    for (double& x : state.out) x /= total;
    state.lse = std::log2(total);
    return state;
  }

  const std::vector<AttentionRequest>& requests_;
  int heads_per_item_;
  plan::AttentionPlan plan_;
  std::vector<std::vector<RowState>> results_;
  std::vector<RowState> partial_;
  std::vector<int> arrivals_;
};

struct Dice {
  std::mt19937 engine{1};
  std::normal_distribution<double> normal{0, 0.5};

  int operator()(int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  }
};

PlanTraits random_traits(Dice& dice) {
  return {.num_kv_heads = dice(1, 2),
          .group = dice(1, 5),
          .tile_rows = dice(1, 12),
          .tile_kv = dice(1, 16),
          .workers = dice(1, 7),
          .causal = dice(0, 1),
          .window_left = dice(0, 1) == 0 ? -1 : dice(0, 30),
          .fixed_split_kv = dice(0, 2) == 0 ? dice(1, 20) : 0,
          .allow_split = dice(0, 3) == 0 ? 0 : 1,
          .row_overhead = dice(0, 8)};
}

AttentionRequest random_request(Dice& dice, const PlanTraits& traits, int heads_per_item) {
  AttentionRequest r;
  r.q_len = dice(0, 9);
  r.kv_len = dice(0, 4) == 0 ? 0 : dice(1, 70);
  r.num_kv_heads = std::int64_t{traits.num_kv_heads} * heads_per_item;
  r.num_qo_heads = r.num_kv_heads * traits.group;
  r.head_dim_qk = r.head_dim_vo = 3;
  r.causal = traits.causal != 0;
  r.window_left = traits.window_left;
  const auto fill = [&](std::vector<double>& data, std::int64_t rows) {
    data.resize(static_cast<std::size_t>(rows * 3));
    for (double& x : data) x = dice.normal(dice.engine);
  };
  fill(r.q, r.q_len * r.num_qo_heads);
  fill(r.k, r.kv_len * r.num_kv_heads);
  fill(r.v, r.kv_len * r.num_kv_heads);
  return r;
}

void expect_attention(const AttentionRequest& request, const Executor& executor, std::size_t b) {
  const reference::AttentionResult expected = reference::attention(request);
  for (std::size_t row = 0; row < expected.lse.size(); ++row) {
    const RowState& got = executor.result(b, static_cast<std::int64_t>(row));
    ASSERT_EQ(got.out.size(), 3u) << "never written";
    for (std::size_t d = 0; d < 3; ++d) {
      ASSERT_NEAR(got.out[d], expected.out[row * 3 + d], 1e-12);
    }
    if (std::isinf(expected.lse[row])) {
      ASSERT_EQ(got.lse, expected.lse[row]);
    } else {
      ASSERT_NEAR(got.lse, expected.lse[row], 1e-12);
    }
  }
}

TEST(AttentionWorkList, AnyOrderOfWorkersGivesAttention) {
  Dice dice;
  std::size_t joins = 0;
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const PlanTraits traits = random_traits(dice);
    const int heads_per_item = dice(1, 3);
    std::vector<AttentionRequest> requests;
    for (int b = dice(0, 4); b > 0; --b) {
      requests.push_back(random_request(dice, traits, heads_per_item));
    }
    Executor executor(traits, requests, heads_per_item);
    std::vector<int> order(static_cast<std::size_t>(traits.workers));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), dice.engine);
    executor.run(order);
    joins += executor.plan().joins.size();
    for (std::size_t b = 0; b < requests.size(); ++b) expect_attention(requests[b], executor, b);
  }
  EXPECT_GT(joins, 100u);  // splits did occur
}

}  // namespace
}  // namespace wavefire
