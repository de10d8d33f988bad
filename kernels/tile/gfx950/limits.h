// Limits of gfx950 that a policy has to respect.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(tile)

inline constexpr int max_shared_bytes = 160 * 1024;  // of one workgroup

WF_NAMESPACE_END
