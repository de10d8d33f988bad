// What a compiled GPU kernel takes of a multiprocessor, as its object says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wavefire::generate {

struct Resources {
  int registers = 0;     // of a thread; on AMD vector registers, accumulation registers included
  int shared_bytes = 0;  // static shared memory, LDS
  int local_bytes = 0;   // stack and spills, of a thread
};

/// Of the one kernel in a cubin or code object; nothing for an object of another kind. (What PTX
/// takes is known when a driver has compiled it.)
std::optional<Resources> resources_of(std::string_view object);

/// What a launch has to know of a kernel.
struct LaunchInfo {
  int threads = 0;               // of a block
  int dynamic_shared_bytes = 0;  // of a block
};

/// What the object says of `entry`, in <entry>_launch; nothing if it does not.
std::optional<LaunchInfo> launch_info_of(std::string_view object, const std::string& entry);

}  // namespace wavefire::generate
