// Blocks as workers; see sm80/grid.h.
#pragma once

#include "tile/sm80/grid.h"
