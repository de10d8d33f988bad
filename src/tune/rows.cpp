#include "tune/rows.h"

namespace wavefire::tune {
namespace {

constexpr int element_width = 8;  // values that a lane takes at a time
constexpr int warp = 32;

// Warps of 32 lanes meet without a barrier: eight of them in a block are eight rows.
constexpr generate::RowTeams warps(int kept) { return {.lanes = warp, .teams = 8, .kept = kept}; }

}  // namespace

generate::RowTeams norm_rows(std::int64_t width) {
  if (width <= warp * element_width) return warps(1);
  // Two elements a lane leave the registers for as many blocks as a multiprocessor takes.
  if (width <= std::int64_t{256} * element_width * 2) return {.lanes = 256, .teams = 1, .kept = 2};
  if (width <= std::int64_t{512} * element_width * 2) return {.lanes = 512, .teams = 1, .kept = 2};
  return {.lanes = 512, .teams = 1};  // read again, from the L2
}

generate::RowTeams activation_rows(std::int64_t width) {
  if (width <= warp * element_width * 2) return warps(0);
  return {.lanes = 256, .teams = 1};
}

generate::RowTeams head_rows() { return warps(0); }
generate::RowTeams rope_rows() { return {.lanes = 256, .teams = 1}; }
generate::RowTeams append_rows() { return {.lanes = 64, .teams = 1}; }

}  // namespace wavefire::tune
