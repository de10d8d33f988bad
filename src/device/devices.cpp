#include "device/devices.h"

#include <array>
#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>

#include "core/check.h"
#include "core/host_device.h"
#include "device/cpu/properties.h"
#include "device/cuda/driver.h"
#include "device/hip/driver.h"

namespace wavefire::device {
namespace {

constexpr const char* accepted_names =
    "cpu, cuda:INDEX, hip:INDEX, virtual:gfx942 or virtual:gfx950";

struct Kind {
  const char* name;
  std::unique_ptr<Driver> (*open)();
  DeviceType tensors;
};
constexpr Kind kinds[] = {{"cuda", cuda::open_driver, DeviceType::cuda},
                          {"hip", hip::open_driver, DeviceType::hip},
                          {"virtual", hip::open_virtual_driver, DeviceType::cpu}};

/// What has been opened. It lives as long as the process: drivers outlast static objects.
struct Opened {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Driver>, std::less<>> drivers;
  std::map<std::string, std::unique_ptr<Gpu>, std::less<>> gpus;
};
Opened& opened() {
  static Opened& opened = *new Opened;
  return opened;
}

const Kind* find_kind(std::string_view name) {
  for (const Kind& kind : kinds) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

Driver& driver_locked(const Kind& kind) {
  std::unique_ptr<Driver>& driver = opened().drivers[kind.name];
  if (!driver) driver = kind.open();
  return *driver;
}

std::string id_of(const Driver& driver, int ordinal) {
  if (driver.kind() == "virtual") return "virtual:" + driver.properties(ordinal).architecture;
  return driver.kind() + ":" + std::to_string(ordinal);
}

[[noreturn]] void fail_name(std::string_view name, const std::string& accepted) {
  core::fail_argument("device", "name", core::join("'", name, "'"), accepted);
}

/// The ordinal that `which`, the part of `name` behind the colon, means.
int ordinal_of(const Driver& driver, std::string_view name, std::string_view which) {
  const int count = driver.device_count();
  if (driver.kind() == "virtual") {
    for (int i = 0; i < count; ++i) {
      if (name == id_of(driver, i)) return i;
    }
    fail_name(name, accepted_names);
  }
  int ordinal = 0;
  if (!which.empty()) {
    const char* end = std::to_address(which.end());
    const auto [stop, error] = std::from_chars(std::to_address(which.begin()), end, ordinal);
    if (error != std::errc() || stop != end) fail_name(name, accepted_names);
  }
  if (count == 0) {
    throw Error(ErrorKind::device, core::join("device: '", name, "' is not there: ",
                                              driver.library_path(), " finds no device"));
  }
  if (ordinal < 0 || ordinal >= count) {
    fail_name(name, core::join(driver.kind(), ":0 to ", driver.kind(), ":", count - 1));
  }
  return ordinal;
}

DeviceInfo info_of(const Driver& driver, const Kind& kind, int ordinal) {
  const Properties p = driver.properties(ordinal);
  const int index = kind.tensors == DeviceType::cpu ? 0 : ordinal;
  return {id_of(driver, ordinal),
          p.name,
          p.architecture,
          p.multiprocessors,
          static_cast<std::int64_t>(p.memory_bytes),
          {kind.tensors, index}};
}

}  // namespace

Driver& driver_of(std::string_view kind) {
  const Kind* found = find_kind(kind);
  core::require(found != nullptr, "device", "kind", kind, "cuda, hip or virtual");
  const std::lock_guard lock(opened().mutex);
  return driver_locked(*found);
}

Gpu& open_gpu(std::string_view name) {
  const std::size_t colon = name.find(':');
  const Kind* kind = find_kind(name.substr(0, colon));
  if (kind == nullptr) fail_name(name, accepted_names);
  const std::string_view which =
      colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  const std::lock_guard lock(opened().mutex);
  const auto known = opened().gpus.find(name);
  if (known != opened().gpus.end()) return *known->second;
  Driver& driver = driver_locked(*kind);
  const int ordinal = ordinal_of(driver, name, which);
  const std::string id = id_of(driver, ordinal);
  std::unique_ptr<Gpu>& gpu = opened().gpus[id];
  if (!gpu) gpu = std::make_unique<Gpu>(driver, ordinal, id);
  return *gpu;
}

Gpu& gpu_of(Device device) {
  constexpr std::size_t most = 64;  // devices of a kind that are found without a lock
  static std::array<std::array<std::atomic<Gpu*>, most>, 2> known;
  const bool is_cuda = device.type == DeviceType::cuda;
  const auto index = static_cast<std::size_t>(device.index);
  std::atomic<Gpu*>* slot = index < most ? &known[is_cuda ? 0 : 1][index] : nullptr;
  if (slot != nullptr) {
    if (Gpu* gpu = slot->load(std::memory_order_acquire)) return *gpu;
  }
  Gpu& gpu = open_gpu((is_cuda ? "cuda:" : "hip:") + std::to_string(device.index));
  if (slot != nullptr) slot->store(&gpu, std::memory_order_release);
  return gpu;
}

}  // namespace wavefire::device

namespace wavefire {
namespace {

/// Empty for the CPU, whose architecture follows Config.
std::optional<DeviceInfo>& chosen() {
  static std::optional<DeviceInfo> info;
  return info;
}

}  // namespace

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> list = {cpu::device_info()};
  for (const device::Kind& kind : device::kinds) {
    try {
      const device::Driver& driver = device::driver_of(kind.name);
      for (int i = 0; i < driver.device_count(); ++i) {
        list.push_back(device::info_of(driver, kind, i));
      }
    } catch (const Error&) {
      continue;  // why_no_driver tells
    }
  }
  return list;
}

std::string why_no_driver(std::string_view kind) {
  try {
    device::driver_of(kind);
    return {};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_argument) throw;
    return error.what();
  }
}

DeviceInfo use_device(std::string_view name) {
  if (name == "cpu") {
    chosen().reset();
    core::set_host_device("cpu");
    return current_device();
  }
  device::Gpu& gpu = device::open_gpu(name);
  const device::Kind& kind = *device::find_kind(gpu.driver().kind());
  chosen() = device::info_of(gpu.driver(), kind, gpu.ordinal());
  core::set_host_device(kind.tensors == DeviceType::cpu ? gpu.id() : "cpu");
  return *chosen();
}

DeviceInfo current_device() { return chosen() ? *chosen() : cpu::device_info(); }

}  // namespace wavefire
