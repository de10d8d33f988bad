// Clang's offload bundles: one file with a code object for each of several targets.
#pragma once

#include <optional>
#include <span>

#include "virtual/types.h"

namespace instinct {

// The part of a bundle for `wanted` (or, without it, for a target that we know); any other file as
// it is. Throws Error if a bundle has no such part.
std::span<const std::byte> unbundle(std::span<const std::byte> file, std::optional<Target> wanted);

// How many bytes the bundle or ELF file has that begins with these, as far as its tables are among
// them: more than given if more has to be seen.
u64 size_by_tables(std::span<const std::byte> file);

}  // namespace instinct
