// KernelSpec -> the source of its kernel: a few lines that instantiate a header of kernels/.
#pragma once

#include <string>

#include "generate/spec.h"

namespace wavefire::generate {

/// The translation unit. Its one symbol is `entry_of(spec)`:
///
///   on CPUs   attention: const cpu::AttentionKernel; others: void(const Params&, i64 begin, i64
///             end), merge: float(const merge::RowTypes&, const merge::States&, char* out)
///   on GPUs   a kernel over LaunchParams, and i32 <entry>_launch[2]: threads of a block, bytes of
///             dynamic shared memory
///
/// A variant stands behind `#line 1 "variant"`, so that a compiler speaks of the user's lines.
std::string source_of(const KernelSpec& spec);

}  // namespace wavefire::generate
