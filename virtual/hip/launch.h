// From the arguments of HIP's launch functions to an operation.
#pragma once

#include "virtual/hip/stream.h"

namespace instinct::hip {

// `parameters` point to the arguments, or `extra` holds a buffer with them. Throws Failure.
KernelRun make_run(std::shared_ptr<Function> function, Dim3 grid, Dim3 block, u64 dynamic_lds,
                   void** parameters, void** extra);

// A kernel by its handle, or by the host's function that stands for it (hipLaunchKernel).
std::shared_ptr<Function> function_of(const void* function);

// The kernel of the current device that belongs to a host function, or null (registration.cpp).
std::shared_ptr<Function> registered_function(const void* host_function);

}  // namespace instinct::hip
