// Index arrays on GPUs: what fronts fill in, and the launch.
#pragma once

#include "index/params.h"
#include "ops/launch.h"
#include "tune/rows.h"

namespace wavefire::ops {

inline index::Numbers index_numbers(const TensorView& view) {
  return {view.data, view.strides[0], view.dtype};
}
inline index::Output index_output(const TensorView& view) {
  return {view.as<i32>(), view.strides[0]};
}

/// Writes `p.count` entries.
inline void launch_index(const Place& place, index::Kind kind, const index::Launch& p) {
  if (p.count == 0) return;
  launch_rows(place, generate::IndexConfig{kind, tune::index_rows()}, p.count, p);
}

}  // namespace wavefire::ops
