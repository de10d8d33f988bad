// Rows on CDNA: a team of 32 lanes is half a wave.
#pragma once

#include "tile/cdna/isa.h"

#include "tile/rows.h"  // behind the instructions
