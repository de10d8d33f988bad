// The scalar level of the CPU: everything that a kernel unit of this level includes first.
#pragma once

// clang-format off: a level's vectors come before what is built on them.
#include "tile/cpu/scalar/vec.h"
#include "tile/cpu/scalar/limits.h"
#include "tile/cpu/convert.h"
// clang-format on
