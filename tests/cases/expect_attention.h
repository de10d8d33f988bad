// Checks of small attention problems along every route.
#pragma once

#include <gtest/gtest.h>

#include <limits>

#include "cases/small_attention.h"

namespace wavefire::cases {

inline double key_number(std::int64_t, std::int64_t j, std::int64_t, std::int64_t) {
  return static_cast<double>(j);
}
inline double one(std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return 1; }

/// Runs `problem` along every route and hands each result to `f`.
template <class F>
void for_routes(const SmallAttention& problem, F&& f) {
  for (const Route& route : all_routes()) {
    SCOPED_TRACE(route.name);
    f(problem.run(route));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

inline void expect_empty(const SmallResult& result, std::int64_t token, std::int64_t head = 0) {
  for (std::int64_t d = 0; d < result.out.view().shape[2]; ++d) {
    ASSERT_EQ(result.at(token, head, d), 0) << "token " << token << " column " << d;
  }
  ASSERT_EQ(result.lse_at(token, head), -std::numeric_limits<double>::infinity());
}

}  // namespace wavefire::cases
