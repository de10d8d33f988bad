// Counting, and the model of a compute unit.
#pragma once

#include <vector>

#include "virtual/profile.h"
#include "virtual/workgroup.h"

namespace instinct {

// From how often each instruction was executed.
void fill_profile(const LaunchState& state, const std::vector<u64>& executed, Profile& profile);

}  // namespace instinct
