// Matrix products in the instructions of gfx942.
#pragma once

#include "tile/gfx942/isa.h"

#include "tile/cdna/mma.h"  // behind the instructions
