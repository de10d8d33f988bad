#include "device/cpu/object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/check.h"

namespace wavefire::cpu {
namespace {

[[noreturn]] void fail(const std::string& name, std::string_view what, const std::string& reason) {
  throw Error(ErrorKind::device, core::join("cpu: cannot ", what, " ", name, ": ", reason));
}

std::string loader_reason() {
  const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one per thread
  return reason != nullptr ? reason : "no reason given";
}

}  // namespace

// Through a file without a name: what is executed is what the caller has checked, whatever happens
// on the disk.
Object::Object(const std::string& name, std::string_view bytes) : name_(name) {
  const int file = memfd_create("wavefire kernel", MFD_CLOEXEC);
  const auto written = file < 0 ? -1 : write(file, bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size())) {
    const std::string reason = std::generic_category().message(errno);
    if (file >= 0) close(file);
    fail(name_, "place", reason);
  }
  const std::string path = core::join("/proc/self/fd/", file);
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  close(file);
  if (handle_ == nullptr) fail(name_, "load", loader_reason());
}

Object::~Object() { dlclose(handle_); }

void* Object::find(const std::string& symbol) const {
  void* address = dlsym(handle_, symbol.c_str());
  if (address == nullptr) fail(name_, "find " + symbol + " in", loader_reason());
  return address;
}

}  // namespace wavefire::cpu
