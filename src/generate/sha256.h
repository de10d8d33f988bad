// SHA-256 (FIPS 180-4): names cache entries and checks their contents.
#pragma once

#include <string>
#include <string_view>

namespace wavefire::generate {

/// 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace wavefire::generate
