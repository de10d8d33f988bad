// What the devices tell about themselves.
#pragma once

#include "virtual/hip/device.h"
#include "virtual/hip/hip_types.h"

namespace instinct::hip {

// Throws Failure for an attribute that is not known.
int attribute(Device& device, hipDeviceAttribute_t attribute);
void fill_properties(Device& device, hipDeviceProp_tR0600& properties);

// Workgroups of a kernel that a compute unit holds at once.
int active_blocks(const Function& function, u32 block_threads, u64 dynamic_lds);

}  // namespace instinct::hip
