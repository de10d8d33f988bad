// The avx2 level of the CPU: everything that a kernel unit of this level includes first.
#pragma once

// clang-format off: a level's vectors come before what is built on them.
#include "tile/cpu/avx2/vec.h"
#include "tile/cpu/avx2/limits.h"
#include "tile/cpu/convert.h"
// clang-format on
