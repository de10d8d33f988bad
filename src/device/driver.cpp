#include "device/driver.h"

#include "core/check.h"
#include "core/log.h"

namespace wavefire::device {
namespace {

ErrorKind kind_of(int status) {
  switch (status) {
    case Status::out_of_memory: return ErrorKind::out_of_memory;
    case Status::no_binary_for_gpu: return ErrorKind::unsupported;
    default: return ErrorKind::device;
  }
}

}  // namespace

void log_failure(const std::exception& error) noexcept {
  try {
    core::log(LogLevel::warning, error.what());
  } catch (...) {  // NOLINT(bugprone-empty-catch): not even memory for the line
  }
}

Driver::Driver(const LibraryName& name, const Library& library,
               std::span<const Symbol<DriverFunctions>> symbols, std::uintptr_t launch_extra_end)
    : kind_(name.operation),
      library_path_(library.path()),
      functions_(load_table<DriverFunctions>(name, library, symbols)),
      launch_extra_end_(launch_extra_end) {}

std::string Driver::describe(int status, const char* function) const {
  const char* name = nullptr;
  const char* text = nullptr;
  functions_.error_name(status, &name);
  functions_.error_text(status, &text);
  const std::string detail = take_detail();
  return core::join(kind_, ": ", function,
                    " failed: ", name != nullptr ? name : std::to_string(status).c_str(), " (",
                    text != nullptr ? text : "unknown", ")", detail.empty() ? "" : "; ", detail);
}

void Driver::check(int status, const char* function) const {
  if (status != Status::success) throw Error(kind_of(status), describe(status, function));
}

bool Driver::succeeds(int status, int tolerated, const char* function) const {
  if (status == tolerated) {
    take_detail();
    return false;
  }
  check(status, function);
  return true;
}

int Driver::version() const {
  int version = 0;
  check(functions_.version(&version), "version");
  return version;
}

void Driver::initialize(const char* function) {
  has_devices_ = succeeds(functions_.init(0), Status::no_device, function);
}

int Driver::device_count() const {
  if (!has_devices_) return 0;
  int count = 0;
  const int status = functions_.device_count(&count);
  return succeeds(status, Status::no_device, "device count") ? count : 0;
}

int Driver::attribute(int attribute, int ordinal) const {
  int value = 0;
  check(functions_.device_attribute(&value, attribute, ordinal), "device attribute");
  return value;
}

Properties Driver::common_properties(int ordinal,
                                     std::span<const PropertyAttribute> attributes) const {
  Properties properties;
  char name[256] = {};
  check(functions_.device_name(name, sizeof name - 1, ordinal), "device name");
  properties.name = name;
  check(functions_.device_memory(&properties.memory_bytes, ordinal), "device memory");
  for (const auto& [property, number] : attributes) {
    properties.*property = attribute(number, ordinal);
  }
  return properties;
}

ContextGuard::ContextGuard(const Driver& driver, Context context)
    : driver_(driver), before_(driver.current()), changed_(before_ != context) {
  if (changed_) driver.set_current(context);
}

ContextGuard::~ContextGuard() {
  if (!changed_) return;
  try {
    driver_.set_current(before_);
  } catch (const std::exception& error) {
    log_failure(error);
  }
}

}  // namespace wavefire::device
