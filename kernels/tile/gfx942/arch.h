// gfx942 (MI300X) as an architecture (concepts.h).
#pragma once

#include "tile/gfx942/mma.h"

#include "tile/cdna/arch.h"  // behind the instructions
#include "tile/gfx942/limits.h"

WF_NAMESPACE_BEGIN(tile)

template <int waves>
using Gfx942 = CdnaTeam<waves>;

WF_NAMESPACE_END
