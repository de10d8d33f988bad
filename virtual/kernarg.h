// The kernarg segment of a launch.
#pragma once

#include <span>
#include <vector>

#include "virtual/code_object.h"
#include "virtual/execute.h"

namespace instinct {

// `arguments` are the explicit ones, laid out as the kernel expects them: at least
// kernel.explicit_bytes(), at most the whole segment or its explicit part up to the next multiple
// of 16. The hidden ones (sizes of grid and block) are filled in. Throws Error invalid_value.
std::vector<std::byte> make_kernarg(const Kernel& kernel, std::span<const std::byte> arguments,
                                    Dim3 grid, Dim3 block, u32 dynamic_lds);

// From a pointer to each explicit argument. Throws Error invalid_value if one is null.
std::vector<std::byte> pack_arguments(const Kernel& kernel, void* const* pointers);

// Throws Error invalid_value, with a reason, for what cannot be launched.
void check_launch(const CodeObject& object, const Kernel& kernel, Dim3 grid, Dim3 block,
                  u32 dynamic_lds);

}  // namespace instinct
