// Counting what kernels execute, if asked to.
#pragma once

#include <string>

#include "virtual/profile.h"

namespace instinct::hip {

bool profiling();
void set_profiling(bool on);
void keep_profile(const Profile& profile);
// Of the last kernel that ran while profiling; empty if none did.
std::string last_profile();

}  // namespace instinct::hip
