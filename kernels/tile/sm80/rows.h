// Rows on NVIDIA GPUs.
#pragma once

#include "tile/sm80/isa.h"

#include "tile/rows.h"  // behind the instructions
