// What the fronts of the row operations share.
#pragma once

#include <algorithm>

#include "core/check.h"
#include "wavefire/tensor_view.h"

namespace wavefire::ops {

inline bool same_shape(const TensorView& a, const TensorView& b) {
  return a.rank == b.rank && std::equal(a.shape, a.shape + a.rank, b.shape);
}

/// Rows that repay waking another thread: some 64k elements, tens of microseconds of work.
inline std::int64_t rows_per_task(std::int64_t width) {
  return std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(width, 1));
}

/// Results this large leave the caches before anybody reads them: they are written past them.
inline bool leaves_caches(std::int64_t bytes) { return bytes >= std::int64_t{16} << 20; }
inline bool leaves_caches(const TensorView& out) {
  return leaves_caches(out.size() * size_of(out.dtype));
}

/// Reads element i of an i32 or i64 tensor of rank 1.
inline std::int64_t read_int(const TensorView& view, std::int64_t i) {
  const std::int64_t at = i * view.strides[0];
  return view.dtype == DType::i64 ? view.as<const std::int64_t>()[at]
                                  : view.as<const std::int32_t>()[at];
}

inline void write_int(const TensorView& view, std::int64_t i, std::int64_t value) {
  const std::int64_t at = i * view.strides[0];
  if (view.dtype == DType::i64) {
    view.as<std::int64_t>()[at] = value;
  } else {
    view.as<std::int32_t>()[at] = static_cast<std::int32_t>(value);
  }
}

/// An index array [segments + 1] of int32; returns the number of segments.
std::int64_t check_segments(const char* operation, const char* argument, const TensorView& view);

/// On the CPU: first entry 0, no entry below the one before. Returns the last entry.
std::int64_t check_indptr(const char* operation, const char* argument, const TensorView& view);

}  // namespace wavefire::ops
