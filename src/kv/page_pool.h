// Page numbers with reference counts.
#pragma once

#include <cstdint>
#include <vector>

namespace wavefire::kv {

class PagePool {
 public:
  explicit PagePool(std::int64_t num_pages);

  std::int64_t size() const { return static_cast<std::int64_t>(references_.size()); }
  std::int64_t free_pages() const { return static_cast<std::int64_t>(free_.size()); }

  /// A free page, with one reference. There must be one.
  std::int32_t take();
  void add_reference(std::int32_t page) { ++references_[static_cast<std::size_t>(page)]; }
  /// Returns what is left; at 0 the page is free.
  int drop_reference(std::int32_t page);
  int references(std::int32_t page) const { return references_[static_cast<std::size_t>(page)]; }

 private:
  std::vector<int> references_;
  std::vector<std::int32_t> free_;  // the lowest number last: taken first
};

}  // namespace wavefire::kv
