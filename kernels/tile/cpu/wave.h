// A CPU worker is a team of one lane whose elements are vectors.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(tile)

struct CpuWave {
  WF_DEVICE static int lane() { return 0; }
  WF_DEVICE static float shuffle_xor(float a, int) { return a; }
};

/// Rows one after the other; an element is a vector of neighbouring columns.
template <int rows_, int cols_>
struct RowMajorLayout {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int lanes = 1;
  static constexpr int slots = rows;
  static constexpr int width = vec_width;
  static constexpr int per_slot = cols / width;
  static_assert(cols % width == 0);
  static constexpr int row(int, int slot) { return slot; }
  static constexpr int col(int, int j) { return j * width; }
  static constexpr int index(int slot, int j) { return slot * per_slot + j; }
  static constexpr int reduce_count = 0;
  static constexpr int reduce_mask(int) { return 0; }
  static constexpr int active_slots(int rows_in_use) { return rows_in_use; }
  static constexpr int active_per_slot(int cols_in_use) {
    return (cols_in_use + width - 1) / width;
  }
};

WF_NAMESPACE_END
