// What a compiled GPU kernel takes of a multiprocessor, as its object says.
#pragma once

#include <optional>
#include <string_view>

namespace wavefire::generate {

struct Resources {
  int registers = 0;     // of a thread; on AMD vector registers, accumulation registers included
  int shared_bytes = 0;  // static shared memory, LDS
  int local_bytes = 0;   // stack and spills, of a thread
};

/// Of the one kernel in a cubin or code object; nothing for an object of another kind.
std::optional<Resources> resources_of(std::string_view object);

}  // namespace wavefire::generate
