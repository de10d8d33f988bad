// How the blocks of a GPU divide the rows of an operation (kernels/tile/rows.h). Pure
// functions of the problem.
#pragma once

#include <cstdint>

#include "generate/spec.h"

namespace wavefire::tune {

/// Rows of `width` values that are read twice: lanes keep them in registers, up to 8192.
generate::RowTeams norm_rows(std::int64_t width);
/// Rows of `width` results, each value read once.
generate::RowTeams activation_rows(std::int64_t width);
/// Rows of one head: a token's head, or the states that are merged into it.
generate::RowTeams head_rows();
/// Tokens whose lanes share the angles, then the heads.
generate::RowTeams rope_rows();
/// Tokens whose lanes copy all heads.
generate::RowTeams append_rows();
/// A lane for each entry of an index array.
generate::RowTeams index_rows();

/// What a GPU has for groups of lanes.
struct GroupLimits {
  bool has_clusters = false;  // blocks that share memory
  int shared_bytes = 0;       // of a block
  int multiprocessors = 1;
};
/// `rows` rows of a vocabulary of `size`, each for a group of lanes: eight blocks where there are
/// clusters, two or one for each of many rows. Those of softmax, and a few of
/// top-p, are kept, if there is the memory.
generate::SamplingConfig sampling_rows(sampling::Kind kind, std::int64_t size, std::int64_t rows,
                                       const GroupLimits& limits);

}  // namespace wavefire::tune
