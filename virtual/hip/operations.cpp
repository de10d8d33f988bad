// What streams and graphs do.
#include <cstring>

#include "virtual/hip/config.h"
#include "virtual/hip/profile.h"
#include "virtual/hip/stream.h"
#include "virtual/kernarg.h"

namespace instinct::hip {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

// Bytes from the first to behind the last of `rows`, each of `count` elements.
u64 extent(const char* what, u64 count, u64 element_bytes, u64 pitch, u64 rows) {
  u64 bytes = 0;
  u64 before = 0;
  u64 all = 0;
  if (rows == 0 || count == 0) return 0;
  if (__builtin_mul_overflow(count, element_bytes, &bytes) ||
      __builtin_mul_overflow(rows - 1, pitch, &before) ||
      __builtin_add_overflow(before, bytes, &all)) {
    throw Failure(hipErrorInvalidValue, std::string(what) + ": " + std::to_string(rows) +
                                            " rows of " + std::to_string(count) +
                                            " elements are more than 2^64 bytes");
  }
  require(rows == 1 || pitch >= bytes, "the pitch is less than a row");
  return all;
}

// Memory that no device knows belongs to the host, and is not checked: unless it has to be the
// device's.
void check_range(const char* what, u64 address, u64 bytes, bool of_device) {
  if (bytes == 0) return;
  if (address == 0) throw Failure(hipErrorInvalidValue, std::string(what) + " is null");
  Runtime& runtime = Runtime::get();
  for (int ordinal = 0; ordinal < runtime.device_count(); ++ordinal) {
    const auto map = runtime.device(ordinal).memory().map();
    if (const Allocation* found = map->find(address)) {
      if (found->kind == Allocation::Kind::process || found->contains(address, bytes)) return;
      throw Failure(hipErrorInvalidValue, std::string(what) + ": " + std::to_string(bytes) +
                                              " bytes at " + std::to_string(address - found->base) +
                                              " of allocation #" + std::to_string(found->id) +
                                              " (" + std::to_string(found->size) + " bytes)");
    }
    if (const Allocation* freed = map->find_freed(address)) {
      throw Failure(hipErrorInvalidValue, std::string(what) + ": " + hex(address) +
                                              " was in allocation #" + std::to_string(freed->id) +
                                              ", which is freed");
    }
  }
  if (of_device && !config().host_memory) {
    throw Failure(hipErrorInvalidValue,
                  std::string(what) + ": " + hex(address) + " is no memory of a device");
  }
}

void check_fill(const Fill& fill) {
  require(fill.element_bytes == 1 || fill.element_bytes == 2 || fill.element_bytes == 4,
          "elements of a fill are of 1, 2 or 4 bytes");
  check_range("fill", fill.to,
              extent("fill", fill.count, fill.element_bytes, fill.pitch, fill.rows), true);
}

void check_copy(const Copy& copy) {
  check_range("copy to", copy.to, extent("copy to", copy.bytes, 1, copy.to_pitch, copy.rows),
              copy.to_device);
  check_range("copy from", copy.from,
              extent("copy from", copy.bytes, 1, copy.from_pitch, copy.rows), copy.from_device);
}

void check_kernel(Device& device, const KernelRun& kernel) {
  if (kernel.function->device != &device) {
    throw Failure(hipErrorInvalidHandle,
                  "kernel '" + kernel.function->kernel->name + "' is loaded on device " +
                      std::to_string(kernel.function->device->ordinal()) +
                      ", the stream is of device " + std::to_string(device.ordinal()));
  }
  if (!device.memory().find(kernel.function->kernel->entry)) {
    throw Failure(hipErrorInvalidHandle, "kernel '" + kernel.function->kernel->name +
                                             "' belongs to a module that was unloaded");
  }
  try {
    check_launch(*kernel.function->object, *kernel.function->kernel, kernel.grid, kernel.block,
                 kernel.dynamic_lds);
  } catch (const Error& error) {
    throw Failure(hipErrorInvalidConfiguration, error.what());
  }
}

void run_copy(const Copy& copy) {
  Device* owner = Runtime::get().owner_of(copy.to);
  for (u64 row = 0; row < copy.rows; ++row) {
    const u64 to = copy.to + row * copy.to_pitch;
    const u64 from = copy.from + row * copy.from_pitch;
    if (copy.bytes == 0) continue;
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), copy.bytes);
    if (!owner) continue;
    Device* source = Runtime::get().owner_of(from);
    if (!source || source == owner) {
      owner->memory().copy_defined(to, from, copy.bytes);
    } else {
      owner->memory().set_defined(to, copy.bytes);
    }
  }
}

void run_fill(const Fill& fill) {
  Device* owner = Runtime::get().owner_of(fill.to);
  const u64 bytes = fill.count * fill.element_bytes;
  for (u64 row = 0; row < fill.rows; ++row) {
    auto* to = reinterpret_cast<std::byte*>(fill.to + row * fill.pitch);
    if (fill.element_bytes == 1) {
      std::memset(to, static_cast<int>(fill.value & 0xff), bytes);
    } else {
      for (u64 i = 0; i < fill.count; ++i) {
        std::memcpy(to + i * fill.element_bytes, &fill.value, fill.element_bytes);
      }
    }
    if (owner) owner->memory().set_defined(fill.to + row * fill.pitch, bytes);
  }
}

void run_kernel(Device& device, const KernelRun& run) {
  const Kernel& kernel = *run.function->kernel;
  const auto kernarg = make_kernarg(kernel, run.arguments, run.grid, run.block, run.dynamic_lds);
  Profile profile;
  const bool profiled = profiling();
  const Launch launch = {.object = *run.function->object,
                         .kernel = kernel,
                         .grid = run.grid,
                         .block = run.block,
                         .dynamic_lds = run.dynamic_lds,
                         .kernarg = kernarg,
                         .memory = device.memory(),
                         .checks = config().checks(),
                         .seed = config().seed,
                         .profile = profiled ? &profile : nullptr,
                         .threads = config().threads,
                         .instruction_limit = config().instruction_limit};
  const std::optional<Report> report = execute(launch);
  if (profiled) keep_profile(profile);
  if (!report) return;
  Runtime::get().tell(*report);
  throw Failure(
      report->fault == Fault::out_of_bounds ? hipErrorIllegalAddress : hipErrorLaunchFailure,
      "kernel '" + kernel.name + "': " + report->message);
}

void run_record(const Record& record) {
  const std::lock_guard lock(record.event->mutex);
  // Recorded again since; graphs record every time (0).
  if (record.generation && record.event->generation != record.generation) return;
  record.event->happened = true;
  record.event->time = std::chrono::steady_clock::now();
}

}  // namespace

Copy make_copy(void* to, const void* from, u64 bytes, hipMemcpyKind kind) {
  Copy copy = {
      .to = reinterpret_cast<u64>(to), .from = reinterpret_cast<u64>(from), .bytes = bytes};
  switch (kind) {
    case hipMemcpyHostToDevice: copy.to_device = true; break;
    case hipMemcpyDeviceToHost: copy.from_device = true; break;
    case hipMemcpyDeviceToDevice:
    case hipMemcpyDeviceToDeviceNoCU: copy.to_device = copy.from_device = true; break;
    case hipMemcpyHostToHost:
    case hipMemcpyDefault: break;
    default:
      throw Failure(hipErrorInvalidMemcpyDirection,
                    "kind " + std::to_string(kind) + " of a copy; hipMemcpyKind has 0 to 4");
  }
  return copy;
}

void check(Device& device, const Operation& operation) {
  std::visit(Overloaded{[](const auto&) {}, [](const Copy& copy) { check_copy(copy); },
                        [](const Fill& fill) { check_fill(fill); },
                        [&](const KernelRun& kernel) { check_kernel(device, kernel); }},
             operation);
}

void run(Device& device, const Operation& operation) {
  check(device, operation);
  std::visit(Overloaded{[](const Nothing&) {}, [](const Copy& copy) { run_copy(copy); },
                        [](const Fill& fill) { run_fill(fill); },
                        [&](const KernelRun& kernel) { run_kernel(device, kernel); },
                        [](const HostCall& call) { call.function(); },
                        [](const Record& record) { run_record(record); },
                        [&](const std::shared_ptr<const Steps>& steps) {
                          for (const Operation& step : steps->operations) run(device, step);
                        }},
             operation);
}

}  // namespace instinct::hip
