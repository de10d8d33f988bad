#include "device/library.h"

#include <dlfcn.h>
#include <link.h>

#include "core/check.h"
#include "core/log.h"
#include "wavefire/error.h"

namespace wavefire::device {
namespace {

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return {};
  return map->l_name;
}

}  // namespace

Library::Library(void* handle) : handle_(handle), path_(path_of(handle)) {}

Library Library::open(const LibraryName& name) {
  for (const std::string& candidate : name.candidates) {
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_NOLOAD)) return Library(handle);
  }
  std::string attempts;
  for (const std::string& candidate : name.candidates) {
    // Local: a library's names must not take the place of another's (the virtual HIP runtime beside
    // AMD's).
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      Library library(handle);
      core::log(LogLevel::info, core::join(name.operation, ": opened ", library.path()));
      return library;
    }
    const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one per thread
    attempts += attempts.empty() ? "" : "; ";
    attempts += reason != nullptr ? reason : candidate;  // the reason names the file
  }
  throw Error(ErrorKind::device, core::join(name.operation, ": cannot open ", name.what, ": tried ",
                                            attempts, "; ", name.remedy));
}

void* Library::find(const char* symbol) const { return dlsym(handle_, symbol); }

void fail_missing_symbols(const LibraryName& name, const Library& library,
                          const std::vector<std::string_view>& missing) {
  std::string names;
  for (std::string_view symbol : missing) names += core::join(names.empty() ? "" : ", ", symbol);
  throw Error(ErrorKind::device, core::join(name.operation, ": ", name.what, " (", library.path(),
                                            ") lacks ", names, "; ", name.remedy));
}

std::string own_folder() {
  static constexpr char inside = 0;
  Dl_info info{};
  if (dladdr(&inside, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace wavefire::device
