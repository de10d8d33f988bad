// The lanes of an NVIDIA team: some warps, each with sixteen rows of the tile.
#pragma once

#include "tile/layout.h"
#include "tile/sm80/isa.h"

WF_NAMESPACE_BEGIN(tile)

template <int warps>
struct NvidiaWave {
  static constexpr int team = warps * 32;
  /// Read anew with each item, or addresses that depend on it would fill the registers between
  /// items.
  WF_DEVICE static int lane() { return isa::thread_anew(); }
  WF_DEVICE static float shuffle_xor(float a, int mask) { return isa::shuffle_xor(a, mask); }
  WF_DEVICE static float max(float a, float b) { return isa::max(a, b); }
};

/// Accumulators of mma.m16n8 (each warp 16 rows) and of wgmma.m64 alike: lane l of a warp holds
/// columns 2 (l % 4) + {0, 1} of each group of 8, of the rows l / 4 and l / 4 + 8.
/// Source: PTX ISA, "Matrix Fragments for mma.m16n8k16" and "wgmma: D fragment".
template <int rows_, int cols_>
struct NvidiaAccumulatorLayout {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static_assert(rows % 16 == 0 && cols % 8 == 0);
  static constexpr int lanes = rows * 2;
  static constexpr int slots = 2;
  static constexpr int width = 1;
  static constexpr int per_slot = cols / 4;
  static constexpr int row(int lane, int slot) { return lane / 32 * 16 + lane % 32 / 4 + 8 * slot; }
  static constexpr int col(int lane, int j) { return j / 2 * 8 + lane % 4 * 2 + j % 2; }
  static constexpr int index(int slot, int j) { return j / 2 * 4 + slot * 2 + j % 2; }
  static constexpr int reduce_count = 2;
  static constexpr int reduce_mask(int i) { return 1 << i; }
  static constexpr int active_slots(int) { return slots; }
  static constexpr int active_per_slot(int) { return per_slot; }
};

static_assert(is_sound<NvidiaAccumulatorLayout<16, 16>>());
static_assert(is_sound<NvidiaAccumulatorLayout<64, 16>>());

/// Left operand of m16n8k16 and wgmma.m64k16, sixteen columns: lane l of a warp holds, in register
/// i, the pair of columns 2 (l % 4) + 8 (i / 2) of row l / 4 + 8 (i % 2).
/// Source: PTX ISA, "Matrix Fragments for mma.m16n8k16".
struct NvidiaLeftLayout {
  static constexpr bool scales_rows = false;
  static constexpr int registers = 4;
  static constexpr int row(int lane, int i) { return lane / 32 * 16 + lane % 32 / 4 + i % 2 * 8; }
  static constexpr int col(int lane, int i) { return lane % 4 * 2 + i / 2 * 8; }
  /// Where an accumulator of sixteen columns, softmax's weights, holds the same pair.
  static constexpr int accumulator_index(int i) { return i / 2 * 4 + i % 2 * 2; }
};

/// The same for products with tiles of float8. A lane's four bytes there are neighbouring columns,
/// so that the sixteen columns of a group are summed up in another order.
struct NvidiaFloat8LeftLayout : NvidiaLeftLayout {
  static constexpr bool scales_rows = true;  // bfloat16 comes as float16
  static constexpr int col(int lane, int i) { return lane % 4 * 4 + i / 2 * 2; }
};

/// Accumulators of products with tiles of float8: of sixteen columns the even ones are one group of
/// mma.m16n8 and the odd ones another, and a lane holds four neighbours.
template <int rows_, int cols_>
struct NvidiaFloat8AccumulatorLayout : NvidiaAccumulatorLayout<rows_, cols_> {
  static_assert(cols_ % 16 == 0);
  static constexpr int col(int lane, int j) { return j / 4 * 16 + lane % 4 * 4 + j % 4; }
  static constexpr int index(int slot, int j) {
    return j / 4 * 8 + j % 2 * 4 + slot * 2 + j % 4 / 2;
  }
};

static_assert(is_sound<NvidiaFloat8AccumulatorLayout<16, 32>>());

/// The pairs of a left operand cover 16 x 16 once, and are those that the same lane accumulates.
consteval bool left_layout_is_sound() {
  using Left = NvidiaLeftLayout;
  using Sum = NvidiaAccumulatorLayout<16, 16>;
  bool seen[16 * 16] = {};
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < Left::registers; ++i) {
      for (int k = 0; k < 2; ++k) {
        const int place = Left::row(lane, i) * 16 + Left::col(lane, i) + k;
        if (seen[place]) return false;
        seen[place] = true;
        const int slot = i % 2, j = i / 2 * 2 + k;
        if (Sum::row(lane, slot) * 16 + Sum::col(lane, j) != place) return false;
        if (Sum::index(slot, j) != Left::accumulator_index(i) + k) return false;
      }
    }
  }
  return true;
}
static_assert(left_layout_is_sound());

WF_NAMESPACE_END
