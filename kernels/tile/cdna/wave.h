// The lanes of a CDNA team: some waves of 64 lanes, each with 32 rows of the tile.
#pragma once

#include "tile/cdna/isa.h"
#include "tile/layout.h"

WF_NAMESPACE_BEGIN(tile)

template <int waves>
struct CdnaWave {
  static constexpr int team = waves * 64;
  /// Read anew with each item, or what depends on it would fill the registers between items.
  WF_DEVICE static int lane() { return isa::thread_anew(); }
  static constexpr bool rereads_lane = true;  // with each tile as well
  WF_DEVICE static float max(float a, float b) { return __builtin_fmaxf(a, b); }
  WF_DEVICE static float shuffle_xor(float a, int mask) {
    return mask == 32 ? isa::other_half(a) : isa::shuffle_xor(a, mask);
  }
};

/// Accumulators of a 32x32 MFMA that computes the transposed product: a lane holds one row of the
/// tile (column l % 32 of the instruction) and 16 columns of every 32: 8 (r / 4) + 4 (l / 32) + r
/// % 4. So the weights of the softmax already lie as the next product's operand needs them. Source:
/// AMD CDNA3 ISA guide, matrix instruction layouts.
template <int rows_, int cols_>
struct CdnaAccumulatorLayout {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static_assert(rows % 32 == 0 && cols % 32 == 0);
  static constexpr int lanes = rows * 2;
  static constexpr int slots = 1;
  static constexpr int width = 1;
  static constexpr int per_slot = cols / 2;
  static constexpr int row(int lane, int) { return lane / 64 * 32 + lane % 32; }
  static constexpr int col(int lane, int j) {
    return j / 16 * 32 + j % 16 / 4 * 8 + lane % 64 / 32 * 4 + j % 4;
  }
  static constexpr int neighbours = 4;  // columns in a row
  static constexpr int index(int, int j) { return j; }
  static constexpr int reduce_count = 1;
  static constexpr int reduce_mask(int) { return 32; }
  static constexpr int active_slots(int) { return slots; }
  static constexpr int active_per_slot(int) { return per_slot; }
};

static_assert(is_sound<CdnaAccumulatorLayout<32, 32>>());
static_assert(is_sound<CdnaAccumulatorLayout<128, 32>>());

WF_NAMESPACE_END
