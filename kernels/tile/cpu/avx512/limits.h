// Register blocking of the avx512 level.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(tile)

// A block of the matrix product keeps block_rows x block_vectors accumulators in registers, besides
// block_vectors vectors of the right operand and one broadcast of the left one.
inline constexpr int block_rows = 12;
inline constexpr int block_vectors = 2;
inline constexpr int block_accumulators = 24;

WF_NAMESPACE_END
