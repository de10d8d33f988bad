#include "kv/page_pool.h"

namespace wavefire::kv {

PagePool::PagePool(std::int64_t num_pages) : references_(static_cast<std::size_t>(num_pages)) {
  free_.reserve(references_.size());
  for (std::int64_t page = num_pages - 1; page >= 0; --page) {
    free_.push_back(static_cast<std::int32_t>(page));
  }
}

std::int32_t PagePool::take() {
  const std::int32_t page = free_.back();
  free_.pop_back();
  references_[static_cast<std::size_t>(page)] = 1;
  return page;
}

int PagePool::drop_reference(std::int32_t page) {
  const int left = --references_[static_cast<std::size_t>(page)];
  if (left == 0) free_.push_back(page);
  return left;
}

}  // namespace wavefire::kv
