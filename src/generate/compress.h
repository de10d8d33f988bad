// zlib's format, for what lies in bundles.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace wavefire::generate {

/// As small as zlib makes it. Throws `Error` (out_of_memory) without memory for that.
std::string compress(std::string_view bytes);

/// The bytes that were compressed; nothing if they are not `size`, or `compressed` is broken.
std::optional<std::string> decompress(std::string_view compressed, std::size_t size);

}  // namespace wavefire::generate
