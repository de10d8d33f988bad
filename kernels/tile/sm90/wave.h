// One warpgroup computes: the layout of its accumulators is that of four mma.sync warps.
#pragma once

#include "tile/sm80/wave.h"
