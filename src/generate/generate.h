// Where kernels come from: the bundle, the cache on disk, or a compiler. A kernel's text and object
// are the same whichever it was.
#pragma once

#include <memory>
#include <string>

#include "generate/bundle.h"
#include "generate/spec.h"

namespace wavefire::generate {

enum class Origin : unsigned char { built_in, cached, compiled };

struct Kernel {
  std::string entry;     // its symbol
  std::string object;    // shared library, cubin, PTX or code object
  std::string compiler;  // that made it: Compiler::name
  Origin origin = Origin::cached;
};

/// Names a kernel in bundles and, as the first half of its key, in the cache: a hash of the spec
/// and the kernel headers, 32 hexadecimal digits.
std::string kernel_id(const KernelSpec& spec);

/// The kernel of `spec` that is built in, for its architecture or another whose code that GPU runs
/// (`code_for`); null if there is none.
std::shared_ptr<const Kernel> find_built_in(const KernelSpec& spec,
                                            const Bundle& bundle = built_in());

/// The kernel of `spec`, cached or compiled. Where no compiler is, an entry of the cache
/// counts whatever made it. Threads and processes that ask for the same one at the same time
/// compile it once. Throws `Error` (compile): it does not compile, no compiler is here, or it would
/// have to be compiled and `Config::jit` is off.
std::shared_ptr<const Kernel> find_or_compile(const KernelSpec& spec);

/// Whether `provide` has the kernel, or a compiler for it.
bool can_provide(const KernelSpec& spec);

/// The kernel of `spec`: built in, cached, or compiled.
std::shared_ptr<const Kernel> provide(const KernelSpec& spec);

}  // namespace wavefire::generate
