// Log lines of the library's own code.
#pragma once

#include <string>

#include "wavefire/logging.h"

namespace wavefire::core {

bool log_enabled(LogLevel level);
void log(LogLevel level, const std::string& line);

}  // namespace wavefire::core
