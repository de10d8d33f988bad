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
  // What a warp does once (addresses, the sum over the team) costs as much as sixteen values a
  // lane.
  if (width <= std::int64_t{128} * element_width * 4) return {.lanes = 128, .teams = 1, .kept = 4};
  if (width <= std::int64_t{256} * element_width * 4) return {.lanes = 256, .teams = 1, .kept = 4};
  return {.lanes = 512, .teams = 1};  // read again, from the L2
}

generate::RowTeams activation_rows(std::int64_t width) {
  if (width <= warp * element_width * 2) return warps(0);
  return {.lanes = 256, .teams = 1};
}

generate::RowTeams head_rows() { return warps(0); }
generate::RowTeams rope_rows() { return {.lanes = 64, .teams = 1}; }
generate::RowTeams append_rows() { return {.lanes = 16, .teams = 16}; }
generate::RowTeams index_rows() { return {.lanes = 1, .teams = 256}; }

generate::SamplingConfig sampling_rows(sampling::Kind kind, std::int64_t size, std::int64_t rows,
                                       const GroupLimits& limits) {
  generate::SamplingConfig config{.kind = kind, .lanes = 256, .blocks = 8};
  // A row of which a draw is refused is waited for, unless there are many.
  const bool keeps =
      kind == sampling::Kind::softmax ||
      (kind == sampling::Kind::top_p && limits.has_clusters && rows < limits.multiprocessors);
  if (!keeps) {  // it is read once, or once more to write it
    // Few rows share all multiprocessors; each of many has one for itself, and waits for no other.
    if (limits.has_clusters && 3 * rows < limits.multiprocessors) return config;
    config.blocks = limits.has_clusters && rows < limits.multiprocessors ? 2 : 1;
    constexpr int two_of_512 = 2 * (106 << 10);  // lanes; with what they list
    if (limits.shared_bytes >= two_of_512) config.lanes = 512;
    return config;
  }
  if (!limits.has_clusters) config.blocks = 1;
  constexpr int message_bytes = 8 << 10;
  const int step = element_width * config.lanes;  // columns of a block
  for (int kept : {4, 8, 16}) {
    const int bytes = kept * step * static_cast<int>(sizeof(float)) + message_bytes;
    if (bytes > limits.shared_bytes || size > std::int64_t{kept} * step * config.blocks) continue;
    config.kept = kept;
    break;
  }
  return config;
}

}  // namespace wavefire::tune
