#include "device/cpu/properties.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "wavefire/config.h"

namespace wavefire::cpu {
namespace {

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "CPU";
}

}  // namespace

DeviceInfo device_info() {
  static const std::string name = model_name();
  return {.id = "cpu",
          .name = name,
          .architecture = active_cpu_level(),
          .multiprocessors = std::max(1, static_cast<int>(std::thread::hardware_concurrency())),
          .memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE),
          .tensors = {}};
}

}  // namespace wavefire::cpu
