// Code objects that come as a file or as a pointer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace instinct::hip {

// Throws Failure (hipErrorFileNotFound).
std::vector<std::byte> read_file(const std::string& path);

// The ELF file or offload bundle at an address, as long as it says that it is. Reads no memory that
// is not there: then it comes out cut short. Throws Failure.
std::vector<std::byte> read_image(const void* image);

}  // namespace instinct::hip
