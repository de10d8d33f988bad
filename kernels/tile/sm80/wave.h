// The lanes of an NVIDIA team: four warps, each with sixteen rows of the tile.
#pragma once

#include "tile/layout.h"
#include "tile/sm80/isa.h"

WF_NAMESPACE_BEGIN(tile)

struct NvidiaWave {
  static constexpr int team = 128;
  WF_DEVICE static int lane() { return isa::thread(); }
  WF_DEVICE static float shuffle_xor(float a, int mask) { return isa::shuffle_xor(a, mask); }
};

/// Accumulators of mma.m16n8 (each warp 16 rows) and of wgmma.m64 alike: lane l of a warp holds
/// columns 2 (l % 4) + {0, 1} of each group of 8, of the rows l / 4 and l / 4 + 8.
/// Source: PTX ISA, "Matrix Fragments for mma.m16n8k16" and "wgmma: D fragment".
template <int rows_, int cols_>
struct NvidiaAccumulatorLayout {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static_assert(rows == 64 && cols % 8 == 0);
  static constexpr int lanes = 128;
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

static_assert(is_sound<NvidiaAccumulatorLayout<64, 16>>());

WF_NAMESPACE_END
