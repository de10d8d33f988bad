// Kernels from a code object's metadata and descriptors.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "virtual/bytes.h"
#include "virtual/code_object.h"

namespace instinct {

// What the loader knows of the image.
struct KernelPlaces {
  // Where a symbol lies, as an address in the file.
  std::function<std::optional<u64>(std::string_view symbol)> address;
  // Bytes of the image by their address in the file. Throws Error outside of it.
  std::function<Bytes(u64 address, u64 bytes)> content;
  // Whether code can begin at an address in the file.
  std::function<bool(u64 address)> is_code;
  u64 bias;
};

// From the content of the section .note. Throws Error invalid_image.
std::vector<Kernel> read_kernels(const Bytes& notes, Target target, const KernelPlaces& places);

}  // namespace instinct
