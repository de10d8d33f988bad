// The avx512 level of the CPU: everything that a kernel unit of this level includes first.
#pragma once

// The level sums products of bf16 pairs (tile/cpu/pairs.h).
#define WAVEFIRE_PAIR_PRODUCTS

// clang-format off: a level's vectors come before what is built on them.
#include "tile/cpu/avx512/vec.h"
#include "tile/cpu/avx512/limits.h"
#include "tile/cpu/convert.h"
// clang-format on
