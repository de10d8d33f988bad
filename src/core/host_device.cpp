#include "core/host_device.h"

#include <utility>

namespace wavefire::core {
namespace {

std::string& current() {
  static std::string id = "cpu";
  return id;
}

}  // namespace

const std::string& host_device() { return current(); }
void set_host_device(std::string id) { current() = std::move(id); }

}  // namespace wavefire::core
