#include "wavefire/config.h"

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "core/check.h"

namespace wavefire {
namespace {

std::mutex mutex;
std::optional<Config> current;

void check_word(std::string_view variable, const std::string& value,
                std::initializer_list<std::string_view> accepted) {
  std::string list;
  for (std::string_view word : accepted) {
    if (value == word) return;
    list += (list.empty() ? "" : ", ") + std::string(word);
  }
  core::fail_argument("config", variable, "'" + value + "'", list);
}

void check_config(const Config& config) {
  check_word("WAVEFIRE_CPU_LEVEL", config.cpu_level, {"auto", "scalar", "avx2", "avx512"});
  check_word("WAVEFIRE_PARALLEL", config.parallel, {"auto", "openmp", "threads", "serial"});
  check_word("WAVEFIRE_LOG_LEVEL", config.log_level, {"off", "warning", "info", "debug"});
  check_word("WAVEFIRE_JIT", config.jit, {"on", "off"});
  core::require(config.num_threads >= 0, "config", "WAVEFIRE_NUM_THREADS", config.num_threads,
                "0 (as many as there are) or more");
}

int parse_int(const char* variable, const std::string& text) {
  const char* end = text.data() + text.size();
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end) return value;
  core::fail_argument("config", variable, "'" + text + "'", "a whole number");
}

Config from_environment() {
  const auto read = [](const char* variable, const std::string& otherwise) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): read once
    return value != nullptr && *value != '\0' ? std::string(value) : otherwise;
  };
  Config config;
  config.cpu_level = read("WAVEFIRE_CPU_LEVEL", config.cpu_level);
  config.parallel = read("WAVEFIRE_PARALLEL", config.parallel);
  config.log_level = read("WAVEFIRE_LOG_LEVEL", config.log_level);
  config.num_threads = parse_int("WAVEFIRE_NUM_THREADS", read("WAVEFIRE_NUM_THREADS", "0"));
  config.virtual_library = read("WAVEFIRE_VIRTUAL_LIBRARY", config.virtual_library);
  const std::string cache_home = read("XDG_CACHE_HOME", read("HOME", "/tmp") + "/.cache");
  config.cache_dir = read("WAVEFIRE_CACHE_DIR", cache_home + "/wavefire/kernels");
  config.jit = read("WAVEFIRE_JIT", config.jit);
  config.host_compiler = read("WAVEFIRE_HOST_COMPILER", "");
  config.nvcc = read("WAVEFIRE_NVCC", "");
  config.hip_compiler = read("WAVEFIRE_HIP_COMPILER", "");
  config.nvrtc = read("WAVEFIRE_NVRTC", "");
  config.hiprtc = read("WAVEFIRE_HIPRTC", "");
  config.search_path = read("PATH", "/usr/local/bin:/usr/bin:/bin");
  check_config(config);
  return config;
}

}  // namespace

const Config& config() {
  const std::lock_guard lock(mutex);
  if (!current) current = from_environment();
  return *current;
}

void set_config(const Config& config) {
  check_config(config);
  const std::lock_guard lock(mutex);
  current = config;
}

}  // namespace wavefire
