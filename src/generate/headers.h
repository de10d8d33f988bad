// The headers that kernels are made of, inside the library: an installed one can compile.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace wavefire::generate {

struct Header {
  const char* path;  // as sources include it: "attention/attend.h"
  const char* text;
};

/// From the build (cmake/EmbedHeaders.cmake).
std::span<const Header> headers();

/// Of all paths and texts.
const std::string& headers_hash();

/// Writes them below `folder`, for compilers that read files.
void write_headers(const std::filesystem::path& folder);

}  // namespace wavefire::generate
