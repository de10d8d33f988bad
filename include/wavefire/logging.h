// Where log lines go. The library itself never prints.
#pragma once

#include <functional>
#include <string_view>

namespace wavefire {

enum class LogLevel { warning, info, debug };

using LogSink = std::function<void(LogLevel, std::string_view line)>;

/// Sends lines up to `Config::log_level` to `sink`; an empty one (the default) drops them. May be
/// called from any thread; the sink is called from any thread.
void set_log_sink(LogSink sink);

}  // namespace wavefire
