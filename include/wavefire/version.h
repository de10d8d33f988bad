// The version of the library that is loaded, which may be newer than these headers.
#pragma once

namespace wavefire {

/// "major.minor.patch"
const char* version();

}  // namespace wavefire
