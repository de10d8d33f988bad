// Limits of sm_90 that a policy has to respect.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(tile)

inline constexpr int max_shared_bytes = 227 * 1024;  // of one block

WF_NAMESPACE_END
