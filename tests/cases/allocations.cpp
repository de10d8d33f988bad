#include "cases/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counting{false};
std::atomic<int> count{0};

}  // namespace

void* operator new(std::size_t size) {
  if (counting) ++count;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace wavefire::cases {

void start_counting_allocations() {
  count = 0;
  counting = true;
}

int stop_counting_allocations() {
  counting = false;
  return count;
}

}  // namespace wavefire::cases
