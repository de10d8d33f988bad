#include "core/log.h"

#include <memory>
#include <mutex>

#include "wavefire/config.h"

namespace wavefire {
namespace {

std::mutex mutex;
std::shared_ptr<const LogSink> sink;

std::shared_ptr<const LogSink> current_sink() {
  const std::lock_guard lock(mutex);
  return sink;
}

int rank_of(const std::string& level) {
  return level == "debug" ? 3 : level == "info" ? 2 : level == "warning" ? 1 : 0;
}

}  // namespace

void set_log_sink(LogSink new_sink) {
  const std::lock_guard lock(mutex);
  sink = new_sink ? std::make_shared<const LogSink>(std::move(new_sink)) : nullptr;
}

namespace core {

bool log_enabled(LogLevel level) {
  return static_cast<int>(level) < rank_of(config().log_level) && current_sink() != nullptr;
}

void log(LogLevel level, const std::string& line) {
  if (!log_enabled(level)) return;
  if (const auto target = current_sink()) (*target)(level, line);
}

}  // namespace core
}  // namespace wavefire
