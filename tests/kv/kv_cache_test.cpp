#include "wavefire/kv_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "wavefire/error.h"

namespace {

using namespace wavefire;
using Tokens = std::vector<std::int32_t>;

Tokens range(int begin, int end) {
  Tokens tokens(static_cast<std::size_t>(end - begin));
  std::iota(tokens.begin(), tokens.end(), begin);
  return tokens;
}

void expect_error(ErrorKind kind, const std::string& text, const auto& call) {
  try {
    call();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(KvCache, TablesAreCsr) {
  KvCache cache({.num_pages = 10, .page_size = 4});
  const auto a = cache.create().id, b = cache.create().id, c = cache.create().id;
  cache.append(a, range(0, 9));
  cache.append(c, range(50, 54));
  const KvTables tables = cache.tables(std::vector{a, b, c});
  EXPECT_EQ(tables.indptr, Tokens({0, 3, 3, 4}));
  EXPECT_EQ(tables.indices, Tokens({0, 1, 2, 3}));
  EXPECT_EQ(tables.last_page_len, Tokens({1, 0, 4}));
  EXPECT_EQ(tables.seq_lens, Tokens({9, 0, 4}));
}

TEST(KvCache, PrefixesAreFoundByContentInWholePages) {
  KvCache cache({.num_pages = 10, .page_size = 4});
  const auto a = cache.create(range(0, 11));
  EXPECT_EQ(a.cached_tokens, 0);
  cache.append(a.id, range(0, 11));
  EXPECT_EQ(cache.create(range(0, 11)).cached_tokens, 0) << "not committed yet";
  cache.commit(a.id);
  const auto b = cache.create(range(0, 11));
  EXPECT_EQ(b.cached_tokens, 8);
  EXPECT_EQ(cache.stats().shared, 2);
  EXPECT_EQ(cache.create(range(0, 8)).cached_tokens, 4) << "one token is left to compute";
  Tokens other = range(0, 11);
  other[5] = 99;
  EXPECT_EQ(cache.create(other).cached_tokens, 4);
}

TEST(KvCache, ReleasedPrefixesStayUntilPagesRunOut) {
  KvCache cache({.num_pages = 4, .page_size = 2});
  const auto a = cache.create().id;
  cache.append(a, range(0, 6));
  cache.commit(a);
  cache.release(a);
  EXPECT_EQ(cache.stats().cached, 3);
  EXPECT_EQ(cache.stats().free, 1);
  const auto b = cache.create().id;
  cache.append(b, range(100, 104));  // one free page, one evicted: the leaf
  EXPECT_EQ(cache.stats().cached, 2);
  EXPECT_EQ(cache.create(range(0, 7)).cached_tokens, 4);
}

TEST(KvCache, ForksCopyAPartlyFilledPageOnWrite) {
  KvCache cache({.num_pages = 10, .page_size = 4});
  const auto a = cache.create().id;
  cache.append(a, range(0, 6));
  const auto b = cache.fork(a);
  EXPECT_EQ(cache.stats().used, 2);
  EXPECT_EQ(cache.pages_needed(b, 1), 1);
  const auto copies = cache.append(b, range(6, 7));
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].from, 1);
  EXPECT_EQ(copies[0].to, 2);
  EXPECT_EQ(copies[0].tokens, 2);
  EXPECT_TRUE(cache.append(a, range(6, 7)).empty()) << "the other one owns the page alone now";
}

TEST(KvCache, RunningOutNamesTheNumbersAndChangesNothing) {
  KvCache cache({.num_pages = 3, .page_size = 4});
  const auto a = cache.create().id;
  cache.append(a, range(0, 8));
  expect_error(ErrorKind::out_of_memory, "2 pages needed, 1 free and 0 cached of 3",
               [&] { cache.append(a, range(0, 5)); });
  EXPECT_EQ(cache.length(a), 8);
  EXPECT_EQ(cache.stats().free, 1);
}

TEST(KvCache, MisuseIsAnErrorThatNamesTheArgument) {
  KvCache cache({.num_pages = 3, .page_size = 4});
  expect_error(ErrorKind::invalid_argument, "'id' is 7", [&] { cache.release(7); });
  const auto a = cache.create().id;
  expect_error(ErrorKind::invalid_argument, "'length' is 1", [&] { cache.truncate(a, 1); });
  cache.release(a);
  expect_error(ErrorKind::invalid_argument, "living sequence", [&] { cache.length(a); });
  expect_error(ErrorKind::invalid_argument, "'page_size' is 0",
               [] { KvCache({.num_pages = 1, .page_size = 0}); });
}

/// Random operations against what they must mean: every sequence is a list of tokens. The pages'
/// memory is simulated, so that a slot that is shared or copied wrongly shows as a wrong token.
class Model {
 public:
  Model(std::uint32_t seed, int pages, int page_size, int vocabulary)
      : random_(seed),
        cache_({.num_pages = pages, .page_size = page_size}),
        page_size_(page_size),
        vocabulary_(vocabulary),
        memory_(static_cast<std::size_t>(pages * page_size), -1) {}

  void step() {
    const int what = dice(0, 9);
    if (sequences_.empty() || what == 0) {
      create();
    } else if (what <= 4) {
      append(pick(), dice(0, 3 * page_size_));
    } else if (what == 5) {
      const auto id = pick();
      const int length = dice(0, static_cast<int>(sequences_[id].size()));
      cache_.truncate(id, length);
      sequences_[id].resize(static_cast<std::size_t>(length));
    } else if (what == 6 && sequences_.size() < 12) {
      const auto id = pick();
      sequences_[cache_.fork(id)] = Tokens(sequences_[id]);
    } else if (what == 7) {
      cache_.commit(pick());
    } else if (what == 8) {
      const auto id = pick();
      cache_.release(id);
      sequences_.erase(id);
    } else if (dice(0, 20) == 0) {
      cache_.drop_cached();
    }
  }

  void check() const {
    std::map<std::int32_t, int> holders;
    std::int64_t tokens = 0;
    for (const auto& [id, expected] : sequences_) {
      const auto pages = cache_.pages(id);
      ASSERT_EQ(cache_.length(id), static_cast<std::int64_t>(expected.size()));
      ASSERT_EQ(pages.size(), (expected.size() + page_size_ - 1) / page_size_);
      ASSERT_EQ(std::set<std::int32_t>(pages.begin(), pages.end()).size(), pages.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(memory_[slot(pages, i)], expected[i]) << "sequence " << id << " token " << i;
      }
      for (std::int32_t page : pages) ++holders[page];
      tokens += static_cast<std::int64_t>(expected.size());
    }
    const KvCacheStats stats = cache_.stats();
    std::int64_t shared = 0;
    for (const auto& [page, count] : holders) shared += count > 1 ? 1 : 0;
    ASSERT_EQ(stats.used, static_cast<std::int64_t>(holders.size()));
    ASSERT_EQ(stats.shared, shared);
    ASSERT_EQ(stats.tokens, tokens);
    ASSERT_EQ(stats.sequences, static_cast<std::int64_t>(sequences_.size()));
    ASSERT_EQ(stats.free + stats.used + stats.cached, stats.total);
    ASSERT_GE(stats.free, 0);
  }

  void finish() {
    for (const auto& [id, tokens] : sequences_) cache_.release(id);
    sequences_.clear();
    ASSERT_EQ(cache_.stats().used, 0);
    cache_.drop_cached();
    ASSERT_EQ(cache_.stats().free, cache_.stats().total);
  }

  int found = 0, out_of_memory = 0;

 private:
  int dice(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  KvCache::SequenceId pick() {
    auto it = sequences_.begin();
    std::advance(it, dice(0, static_cast<int>(sequences_.size()) - 1));
    return it->first;
  }
  std::size_t slot(std::span<const std::int32_t> pages, std::size_t i) const {
    return static_cast<std::size_t>(pages[i / page_size_]) * page_size_ + i % page_size_;
  }

  void create() {
    if (sequences_.size() >= 12) return;
    Tokens prompt(static_cast<std::size_t>(dice(0, 5 * page_size_)));
    for (auto& token : prompt) token = dice(0, vocabulary_ - 1);
    const auto [id, cached] = cache_.create(prompt);
    ASSERT_EQ(cached % page_size_, 0);
    ASSERT_TRUE(cached == 0 || cached < static_cast<std::int64_t>(prompt.size()));
    found += cached > 0 ? 1 : 0;
    sequences_[id] = Tokens(prompt.begin(), prompt.begin() + cached);
    append_tokens(id, Tokens(prompt.begin() + cached, prompt.end()));
  }

  void append(KvCache::SequenceId id, int count) {
    Tokens tokens(static_cast<std::size_t>(count));
    for (auto& token : tokens) token = dice(0, vocabulary_ - 1);
    append_tokens(id, tokens);
  }

  void append_tokens(KvCache::SequenceId id, const Tokens& tokens) {
    const KvCacheStats before = cache_.stats();
    const std::int64_t needed = cache_.pages_needed(id, static_cast<std::int64_t>(tokens.size()));
    std::vector<PageCopy> copies;
    try {
      copies = cache_.append(id, tokens);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::out_of_memory);
      ASSERT_GT(needed, before.free + before.cached);
      ASSERT_EQ(cache_.stats().free, before.free);
      ++out_of_memory;
      return;
    }
    ASSERT_LE(needed, before.free + before.cached);
    for (const PageCopy& copy : copies) {
      for (int i = 0; i < copy.tokens; ++i) {
        memory_[static_cast<std::size_t>(copy.to * page_size_ + i)] =
            memory_[static_cast<std::size_t>(copy.from * page_size_ + i)];
      }
    }
    Tokens& sequence = sequences_[id];
    for (std::int32_t token : tokens) {
      memory_[slot(cache_.pages(id), sequence.size())] = token;
      sequence.push_back(token);
    }
  }

  std::mt19937 random_;
  KvCache cache_;
  int page_size_, vocabulary_;
  std::vector<std::int32_t> memory_;
  std::map<KvCache::SequenceId, Tokens> sequences_;
};

TEST(KvCacheProperties, BehavesAsListsOfTokens) {
  int found = 0, out_of_memory = 0;
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    Model model(seed, 8 + static_cast<int>(seed), 1 + static_cast<int>(seed % 5), 2);
    for (int i = 0; i < 1000; ++i) {
      model.step();
      model.check();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << i;
    }
    model.finish();
    found += model.found;
    out_of_memory += model.out_of_memory;
  }
  EXPECT_GT(found, 300) << "the sequences of operations must reach sharing";
  EXPECT_GT(out_of_memory, 300) << "and running out";
}

}  // namespace
