#include "ops/rows.h"

namespace wavefire::ops {

std::int64_t check_segments(const char* operation, const char* argument, const TensorView& view) {
  core::check(operation, argument, view).defined().dtype(DType::i32).rank(1);
  core::require(view.shape[0] >= 1, operation, argument, view, "at least one entry");
  return view.shape[0] - 1;
}

std::int64_t check_indptr(const char* operation, const char* argument, const TensorView& view) {
  check_segments(operation, argument, view);
  std::int64_t before = 0;
  core::require(read_int(view, 0) == 0, operation, argument, core::join(read_int(view, 0), " at 0"),
                "0 as the first entry");
  for (std::int64_t i = 1; i < view.shape[0]; ++i) {
    const std::int64_t entry = read_int(view, i);
    if (entry < before) {
      core::fail_argument(operation, argument, core::join(entry, " at ", i, " after ", before),
                          "entries that do not decrease");
    }
    before = entry;
  }
  return before;
}

}  // namespace wavefire::ops
