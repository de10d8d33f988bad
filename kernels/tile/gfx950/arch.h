// gfx950 (MI355X) as an architecture (concepts.h).
#pragma once

#include "tile/gfx950/mma.h"

#include "tile/cdna/arch.h"  // behind the instructions
#include "tile/gfx950/limits.h"

WF_NAMESPACE_BEGIN(tile)

template <int waves>
using Gfx950 = CdnaTeam<waves>;

WF_NAMESPACE_END
