#include "virtual/hip/device.h"

#include <cstdio>

#include "virtual/hip/config.h"
#include "virtual/hip/stream.h"

namespace instinct::hip {
namespace {

thread_local int current_ordinal = 0;

}  // namespace

Device::Device(int ordinal, Target target, u64 memory_bytes)
    : ordinal_(ordinal),
      target_(target),
      memory_(memory_bytes),
      null_stream_(std::make_shared<Stream>(*this, hipStreamDefault, 0)) {
  memory_.allow_host_memory(config().host_memory);
}

void Device::fail(hipError_t code, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (failure_ != hipSuccess) return;
  failure_ = code;
  failure_text_ = text;
}

void Device::tell_failure() {
  const std::lock_guard lock(mutex_);
  const hipError_t code = std::exchange(failure_, hipSuccess);
  if (code != hipSuccess) throw Failure(code, failure_text_);
}

Runtime::Runtime() {
  if (!config().error.empty()) return;
  for (const Target target : config().take_devices()) {
    devices_.push_back(std::make_unique<Device>(device_count(), target, config().memory_bytes));
  }
}

Runtime& Runtime::get() {
  static Runtime& runtime = *new Runtime;  // programs call HIP until the very end
  if (runtime.devices_.empty()) throw Failure(hipErrorNoDevice, config().error);
  return runtime;
}

Device& Runtime::device(int ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) {
    throw Failure(hipErrorInvalidDevice,
                  "device " + std::to_string(ordinal) + " of " + std::to_string(device_count()));
  }
  return *devices_[static_cast<std::size_t>(ordinal)];
}

Device& Runtime::current() { return device(current_ordinal); }

void Runtime::set_current(int ordinal) {
  device(ordinal);
  current_ordinal = ordinal;
}

Device* Runtime::owner_of(u64 address) {
  for (const auto& device : devices_) {
    if (device->memory().find(address)) return device.get();
  }
  return nullptr;
}

std::shared_ptr<Module> Runtime::load(Device& device, std::span<const std::byte> file) {
  auto module = std::make_shared<Module>();
  module->device = &device;
  module->object = CodeObject::load(file, device.target());
  for (const Segment& segment : module->object->segments()) {
    device.memory().add(segment.address, segment.size, Allocation::Kind::code, segment.writable);
  }
  return module;
}

void unload(Module& module) {
  for (const Segment& segment : module.object->segments()) {
    module.device->memory().remove(segment.address);
  }
}

void Runtime::tell(const Report& report) {
  const std::string text = report.text();
  if (!config().quiet) std::fprintf(stderr, "wavefire-virtual: %s\n", text.c_str());
  const std::lock_guard lock(mutex_);
  last_report_ = text;
  ++report_count_;
}

std::string Runtime::last_report() const {
  const std::lock_guard lock(mutex_);
  return last_report_;
}

u64 Runtime::report_count() const {
  const std::lock_guard lock(mutex_);
  return report_count_;
}

}  // namespace instinct::hip
