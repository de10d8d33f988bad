// A radix tree over token ids. An edge is one page of tokens, a node the page that holds their K
// and V after everything on the way from the root.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace wavefire::kv {

struct PrefixNode {
  using Key = std::vector<std::int32_t>;

  PrefixNode* parent = nullptr;
  const Key* key = nullptr;  // in the parent's map
  std::int32_t page = -1;
  std::int64_t last_used = 0;
  bool idle = false;  // no sequence holds the page
  std::map<Key, std::unique_ptr<PrefixNode>> children;
};

class PrefixTree {
 public:
  /// The child of `node` (nullptr: the root) for a page of tokens, or nullptr.
  PrefixNode* find(PrefixNode* node, std::span<const std::int32_t> page_tokens);
  PrefixNode* insert(PrefixNode* node, std::span<const std::int32_t> page_tokens,
                     std::int32_t page);

  /// Tells whether sequences hold the node's page; touches it.
  void set_idle(PrefixNode* node, bool idle);

  /// Removes the least recently used leaf that is idle and returns its page. Since whoever holds a
  /// page holds those before it, every idle node becomes such a leaf in time.
  std::int32_t evict();

  std::int64_t idle_nodes() const { return idle_nodes_; }

 private:
  void update_candidate(PrefixNode* node, bool was);
  bool is_candidate(const PrefixNode* node) const { return node->idle && node->children.empty(); }

  PrefixNode root_;
  std::int64_t clock_ = 0;
  std::int64_t idle_nodes_ = 0;
  std::set<std::pair<std::int64_t, PrefixNode*>> candidates_;  // idle leaves by last use
};

}  // namespace wavefire::kv
