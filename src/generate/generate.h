// Where kernels come from: the cache on disk, or a compiler. A kernel's text and object are the
// same whichever it was.
#pragma once

#include <memory>
#include <string>

#include "generate/spec.h"

namespace wavefire::generate {

enum class Origin : unsigned char { cached, compiled };

struct Kernel {
  std::string entry;   // its symbol
  std::string object;  // shared library, cubin or code object
  Origin origin = Origin::cached;
};

/// The kernel of `spec`. Threads and processes that ask for the same one at the same time compile
/// it once. Throws `Error` (compile): it does not compile, no compiler is here, or it would have to
/// be compiled and `Config::jit` is off.
std::shared_ptr<const Kernel> provide(const KernelSpec& spec);

}  // namespace wavefire::generate
