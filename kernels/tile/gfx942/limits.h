// Limits of gfx942 that a policy has to respect.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(tile)

inline constexpr int max_shared_bytes = 64 * 1024;  // of one workgroup

WF_NAMESPACE_END
