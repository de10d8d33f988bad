// Kernels for the tests of the virtual Instinct.
#pragma once

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "virtual/types.h"

namespace instinct {

// Where the build puts compiled kernels.
inline std::string kernel_folder() { return WAVEFIRE_VIRTUAL_KERNELS; }

inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<std::byte> content(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  return content;
}

// The code object of tests/virtual/kernels/<name>.hip.
inline std::string kernel_path(const std::string& name, Target target) {
  return kernel_folder() + "/" + name + "." + name_of(target) + ".co";
}

inline std::vector<std::byte> read_kernels(const std::string& name, Target target) {
  return read_file(kernel_path(name, target));
}

}  // namespace instinct
