#include "wavefire/kv_cache.h"

#include <limits>
#include <ranges>
#include <unordered_map>

#include "core/check.h"
#include "kv/page_pool.h"
#include "kv/prefix_tree.h"

namespace wavefire {
namespace {

constexpr const char* operation = "KvCache";

struct Sequence {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> pages;  // ceil(tokens / page_size)
};

}  // namespace

struct KvCache::State {
  explicit State(const KvCacheOptions& given)
      : options(given),
        pool(given.num_pages),
        node_of_page(static_cast<std::size_t>(given.num_pages)),
        holders(static_cast<std::size_t>(given.num_pages)) {}

  KvCacheOptions options;
  kv::PagePool pool;  // a page has a reference of every sequence and one of the tree
  kv::PrefixTree tree;
  std::vector<kv::PrefixNode*> node_of_page;
  std::vector<int> holders;  // sequences that hold the page
  std::int64_t used = 0, shared = 0, tokens = 0;
  std::unordered_map<SequenceId, Sequence> sequences;
  SequenceId next_id = 1;

  std::int64_t page_size() const { return options.page_size; }
  std::int64_t page_count(std::int64_t length) const {
    return (length + page_size() - 1) / page_size();
  }

  Sequence& find(SequenceId id, const char* call) {
    const auto found = sequences.find(id);
    if (found == sequences.end()) {
      core::fail_argument(std::string(operation) + "." + call, "id", std::to_string(id),
                          "the id of a living sequence");
    }
    return found->second;
  }

  std::span<const std::int32_t> page_tokens(std::span<const std::int32_t> all,
                                            std::int64_t page) const {
    return all.subspan(static_cast<std::size_t>(page * page_size()),
                       static_cast<std::size_t>(page_size()));
  }

  /// A sequence takes hold of a page that has its reference already or gets one.
  void hold(std::int32_t page) {
    int& count = holders[static_cast<std::size_t>(page)];
    ++count;
    if (count == 1) {
      ++used;
      if (kv::PrefixNode* node = node_of_page[static_cast<std::size_t>(page)])
        tree.set_idle(node, false);
    } else if (count == 2) {
      ++shared;
    }
  }

  void let_go(std::int32_t page) {
    int& count = holders[static_cast<std::size_t>(page)];
    --count;
    if (count == 1) --shared;
    if (count == 0) {
      --used;
      if (kv::PrefixNode* node = node_of_page[static_cast<std::size_t>(page)])
        tree.set_idle(node, true);
    }
    pool.drop_reference(page);
  }

  std::int32_t take_page() {
    if (pool.free_pages() == 0) {
      const std::int32_t page = tree.evict();
      node_of_page[static_cast<std::size_t>(page)] = nullptr;
      pool.drop_reference(page);
    }
    const std::int32_t page = pool.take();
    hold(page);
    return page;
  }

  /// The last page is to be written but others read it.
  bool copies_last(const Sequence& sequence) const {
    if (sequence.tokens.size() % static_cast<std::size_t>(page_size()) == 0) return false;
    return pool.references(sequence.pages.back()) > 1;
  }

  std::int64_t pages_needed(const Sequence& sequence, std::int64_t count) const {
    if (count == 0) return 0;
    const auto length = static_cast<std::int64_t>(sequence.tokens.size());
    return page_count(length + count) - page_count(length) + (copies_last(sequence) ? 1 : 0);
  }

  void require_pages(std::int64_t needed) const {
    const std::int64_t evictable = tree.idle_nodes();
    if (needed <= pool.free_pages() + evictable) return;
    throw Error(ErrorKind::out_of_memory,
                core::join(operation, ".append: ", needed, " pages needed, ", pool.free_pages(),
                           " free and ", evictable, " cached of ", pool.size(), " (", used,
                           " in use by ", sequences.size(), " sequences)"));
  }
};

KvCache::KvCache(const KvCacheOptions& options) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  core::require(options.num_pages >= 0 && options.num_pages <= most, operation, "num_pages",
                options.num_pages, core::join("0 to ", most));
  core::require(options.page_size >= 1, operation, "page_size", options.page_size, "1 or more");
  state_ = std::make_unique<State>(options);
}

KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;
KvCache& KvCache::operator=(KvCache&&) noexcept = default;

KvCache::Created KvCache::create(std::span<const std::int32_t> tokens) {
  State& s = *state_;
  Sequence sequence;
  const auto size = static_cast<std::int64_t>(tokens.size());
  kv::PrefixNode* node = nullptr;
  for (std::int64_t page = 0; s.options.share_prefixes && (page + 1) * s.page_size() < size;
       ++page) {
    node = s.tree.find(node, s.page_tokens(tokens, page));
    if (node == nullptr) break;
    sequence.pages.push_back(node->page);
  }
  for (std::int32_t page : sequence.pages) {
    s.pool.add_reference(page);
    s.hold(page);
  }
  const std::int64_t cached = static_cast<std::int64_t>(sequence.pages.size()) * s.page_size();
  sequence.tokens.assign(tokens.begin(), tokens.begin() + cached);
  s.tokens += cached;
  const SequenceId id = s.next_id++;
  s.sequences.emplace(id, std::move(sequence));
  return {id, cached};
}

std::vector<PageCopy> KvCache::append(SequenceId id, std::span<const std::int32_t> tokens) {
  State& s = *state_;
  Sequence& sequence = s.find(id, "append");
  const auto count = static_cast<std::int64_t>(tokens.size());
  std::vector<PageCopy> copies;
  if (count == 0) return copies;
  const auto length = static_cast<std::int64_t>(sequence.tokens.size());
  core::require(length + count <= std::numeric_limits<std::int32_t>::max(), "KvCache.append",
                "tokens", count, "sequences below 2^31 tokens");
  s.require_pages(s.pages_needed(sequence, count));
  if (s.copies_last(sequence)) {
    const std::int32_t from = sequence.pages.back();
    const std::int32_t to = s.take_page();
    copies.push_back({from, to, static_cast<std::int32_t>(length % s.page_size())});
    sequence.pages.back() = to;
    s.let_go(from);
  }
  const std::int64_t pages = s.page_count(length + count);
  while (static_cast<std::int64_t>(sequence.pages.size()) < pages) {
    sequence.pages.push_back(s.take_page());
  }
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  s.tokens += count;
  return copies;
}

void KvCache::truncate(SequenceId id, std::int64_t length) {
  State& s = *state_;
  Sequence& sequence = s.find(id, "truncate");
  const auto before = static_cast<std::int64_t>(sequence.tokens.size());
  core::require(length >= 0 && length <= before, "KvCache.truncate", "length", length,
                core::join("0 to ", before, ", the length of sequence ", id));
  sequence.tokens.resize(static_cast<std::size_t>(length));
  s.tokens -= before - length;
  while (static_cast<std::int64_t>(sequence.pages.size()) > s.page_count(length)) {
    s.let_go(sequence.pages.back());
    sequence.pages.pop_back();
  }
}

KvCache::SequenceId KvCache::fork(SequenceId id) {
  State& s = *state_;
  Sequence copy = s.find(id, "fork");
  for (std::int32_t page : copy.pages) {
    s.pool.add_reference(page);
    s.hold(page);
  }
  s.tokens += static_cast<std::int64_t>(copy.tokens.size());
  const SequenceId forked = s.next_id++;
  s.sequences.emplace(forked, std::move(copy));
  return forked;
}

void KvCache::commit(SequenceId id, std::int64_t length) {
  State& s = *state_;
  Sequence& sequence = s.find(id, "commit");
  core::require(length >= 0 && length <= static_cast<std::int64_t>(sequence.tokens.size()),
                "KvCache.commit", "length", length,
                core::join("0 to ", sequence.tokens.size(), ", the length of sequence ", id));
  kv::PrefixNode* node = nullptr;
  for (std::int64_t page = 0; s.options.share_prefixes && (page + 1) * s.page_size() <= length;
       ++page) {
    std::int32_t& mine = sequence.pages[static_cast<std::size_t>(page)];
    const auto tokens = s.page_tokens(sequence.tokens, page);
    kv::PrefixNode* child = s.tree.find(node, tokens);
    if (child == nullptr) {
      child = s.tree.insert(node, tokens, mine);
      s.node_of_page[static_cast<std::size_t>(mine)] = child;
      s.pool.add_reference(mine);
    } else if (child->page != mine) {
      // Whoever holds a page of the tree has to hold those before it. Forks that share what follows
      // would not: they wait until one of them is left.
      if (s.holders[static_cast<std::size_t>(mine)] > 1) break;
      s.pool.add_reference(child->page);
      s.hold(child->page);
      s.let_go(mine);
      mine = child->page;
    }
    node = child;
  }
}

void KvCache::release(SequenceId id) {
  State& s = *state_;
  Sequence& sequence = s.find(id, "release");
  // From the end, so that a prefix counts as used later than what follows it.
  for (const std::int32_t page : std::views::reverse(sequence.pages)) s.let_go(page);
  s.tokens -= static_cast<std::int64_t>(sequence.tokens.size());
  s.sequences.erase(id);
}

std::int64_t KvCache::length(SequenceId id) const {
  return static_cast<std::int64_t>(state_->find(id, "length").tokens.size());
}

std::span<const std::int32_t> KvCache::tokens(SequenceId id) const {
  return state_->find(id, "tokens").tokens;
}

std::span<const std::int32_t> KvCache::pages(SequenceId id) const {
  return state_->find(id, "pages").pages;
}

KvTables KvCache::tables(std::span<const SequenceId> ids) const {
  KvTables tables;
  tables.indptr.push_back(0);
  for (SequenceId id : ids) {
    const Sequence& sequence = state_->find(id, "tables");
    const auto length = static_cast<std::int64_t>(sequence.tokens.size());
    tables.indices.insert(tables.indices.end(), sequence.pages.begin(), sequence.pages.end());
    tables.indptr.push_back(static_cast<std::int32_t>(tables.indices.size()));
    const std::int64_t last = length == 0 ? 0 : (length - 1) % state_->page_size() + 1;
    tables.last_page_len.push_back(static_cast<std::int32_t>(last));
    tables.seq_lens.push_back(static_cast<std::int32_t>(length));
  }
  return tables;
}

std::int64_t KvCache::pages_needed(SequenceId id, std::int64_t count) const {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  core::require(count >= 0 && count <= most, "KvCache.pages_needed", "count", count, "0 to 2^31");
  return state_->pages_needed(state_->find(id, "pages_needed"), count);
}

KvCacheStats KvCache::stats() const {
  const State& s = *state_;
  return {s.pool.size(), s.pool.free_pages(),
          s.used,        s.tree.idle_nodes(),
          s.shared,      static_cast<std::int64_t>(s.sequences.size()),
          s.tokens};
}

int KvCache::page_size() const { return state_->options.page_size; }

void KvCache::drop_cached() {
  State& s = *state_;
  while (s.tree.idle_nodes() > 0) {
    const std::int32_t page = s.tree.evict();
    s.node_of_page[static_cast<std::size_t>(page)] = nullptr;
    s.pool.drop_reference(page);
  }
}

}  // namespace wavefire
