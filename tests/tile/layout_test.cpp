// Fragment layouts are proved at compile time, here for every extent in use.
#include <gtest/gtest.h>

#include WAVEFIRE_TILE_HEADER

#include "tile/cpu/wave.h"
#include "tile/layout.h"

namespace {

using namespace wavefire::tile;

static_assert(is_sound<RowMajorLayout<16, 32>>());
static_assert(is_sound<RowMajorLayout<16, 64>>());

/// A layout that holds a place twice, and one whose reduction misses lanes: the proofs must fail.
struct Broken : RowMajorLayout<16, 32> {
  static constexpr int col(int, int) { return 0; }
};
static_assert(!is_partition<Broken>());

struct Halved {
  static constexpr int rows = 1, cols = 4, lanes = 4, slots = 1, per_slot = 1, width = 1;
  static constexpr int row(int, int) { return 0; }
  static constexpr int col(int lane, int) { return lane; }
  static constexpr int index(int, int j) { return j; }
  static constexpr int reduce_count = 1;
  static constexpr int reduce_mask(int) { return 1; }
};
static_assert(is_partition<Halved>() && !reduces_rows<Halved>());

TEST(Layout, ProofsAreAtCompileTime) { SUCCEED(); }

}  // namespace
