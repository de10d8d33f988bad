// Our own functions beside HIP's.
#include <mutex>

#include "virtual/hip/config.h"
#include "virtual/hip/device.h"
#include "virtual/hip/profile.h"
#include "virtual/hip/virtual_instinct.h"

namespace instinct::hip {
namespace {

std::atomic<bool> profiling_on = false;
std::mutex profile_mutex;
std::string profile_text;

}  // namespace

bool profiling() { return profiling_on; }
void set_profiling(bool on) { profiling_on = on; }

void keep_profile(const Profile& profile) {
  const std::lock_guard lock(profile_mutex);
  profile_text = profile.text();
}

std::string last_profile() {
  const std::lock_guard lock(profile_mutex);
  return profile_text;
}

}  // namespace instinct::hip

using namespace instinct;
using namespace instinct::hip;

extern "C" {

const char* wavefireVirtualLastError(void) { return last_error().text.c_str(); }

const char* wavefireVirtualLastReport(void) {
  thread_local std::string text;
  call(__func__, [&] { text = Runtime::get().last_report(); });
  return text.c_str();
}

uint64_t wavefireVirtualReportCount(void) {
  uint64_t count = 0;
  call(__func__, [&] { count = Runtime::get().report_count(); });
  return count;
}

hipError_t wavefireVirtualSetDevices(const char* targets) {
  return call(__func__, [&] {
    require(targets, "targets is null");
    if (!config().set_devices(targets)) {
      throw Failure(hipErrorIllegalState, "there are devices already");
    }
  });
}

hipError_t wavefireVirtualSetChecks(const char* checks) {
  return call(__func__, [&] {
    require(checks, "checks is null");
    config().set_checks(Checks::parse(checks));
  });
}

hipError_t wavefireVirtualSetSeed(uint64_t seed) {
  return call(__func__, [&] { config().seed = seed; });
}

hipError_t wavefireVirtualSetThreads(int threads) {
  return call(__func__, [&] {
    require(threads >= 0, "threads are negative");
    config().threads = threads;
  });
}

hipError_t wavefireVirtualSetProfiling(int on) {
  return call(__func__, [&] { set_profiling(on != 0); });
}

const char* wavefireVirtualLastProfile(void) {
  thread_local std::string text;
  text = last_profile();
  return text.c_str();
}

hipError_t wavefireVirtualModuleLoad(hipModule_t* module, const void* image, size_t bytes) {
  return call(__func__, [&] {
    require(module && image, "module or image is null");
    Runtime& runtime = Runtime::get();
    const std::span file(static_cast<const std::byte*>(image), bytes);
    *module = runtime.modules.add(runtime.load(runtime.current(), file));
  });
}

}  // extern "C"
