#include "kv/prefix_tree.h"

namespace wavefire::kv {

PrefixNode* PrefixTree::find(PrefixNode* node, std::span<const std::int32_t> page_tokens) {
  auto& children = (node != nullptr ? node : &root_)->children;
  const auto child = children.find(PrefixNode::Key(page_tokens.begin(), page_tokens.end()));
  return child != children.end() ? child->second.get() : nullptr;
}

PrefixNode* PrefixTree::insert(PrefixNode* node, std::span<const std::int32_t> page_tokens,
                               std::int32_t page) {
  PrefixNode* parent = node != nullptr ? node : &root_;
  const bool was = is_candidate(parent);
  auto [place, added] = parent->children.emplace(
      PrefixNode::Key(page_tokens.begin(), page_tokens.end()), std::make_unique<PrefixNode>());
  PrefixNode* child = place->second.get();
  child->parent = parent;
  child->key = &place->first;
  child->page = page;
  child->last_used = ++clock_;
  update_candidate(parent, was);
  return child;
}

void PrefixTree::set_idle(PrefixNode* node, bool idle) {
  const bool was = is_candidate(node);
  if (was) candidates_.erase({node->last_used, node});
  node->last_used = ++clock_;
  idle_nodes_ += (idle ? 1 : 0) - (node->idle ? 1 : 0);
  node->idle = idle;
  update_candidate(node, false);
}

std::int32_t PrefixTree::evict() {
  PrefixNode* node = candidates_.begin()->second;
  candidates_.erase(candidates_.begin());
  --idle_nodes_;
  const std::int32_t page = node->page;
  PrefixNode* parent = node->parent;
  parent->children.erase(parent->children.find(*node->key));
  if (parent != &root_) update_candidate(parent, false);
  return page;
}

void PrefixTree::update_candidate(PrefixNode* node, bool was) {
  const bool is = is_candidate(node);
  if (is == was) return;
  if (is) {
    candidates_.insert({node->last_used, node});
  } else {
    candidates_.erase({node->last_used, node});
  }
}

}  // namespace wavefire::kv
