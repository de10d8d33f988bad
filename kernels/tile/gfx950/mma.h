// Matrix products in the instructions of gfx950.
#pragma once

#include "tile/gfx950/isa.h"

#include "tile/cdna/mma.h"  // behind the instructions
