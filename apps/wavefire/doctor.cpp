#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "commands.h"
#include "generate/bundle.h"
#include "generate/cache.h"
#include "generate/compiler.h"
#include "generate/headers.h"
#include "wavefire/config.h"
#include "wavefire/device.h"
#include "wavefire/error.h"
#include "wavefire/version.h"

namespace wavefire::cli {
namespace {

void print_devices() {
  std::puts("\ndevices");
  for (const DeviceInfo& device : devices()) {
    std::printf("  %-18s %s, %s, %d processors, %s\n", device.id.c_str(), device.name.c_str(),
                device.architecture.c_str(), device.multiprocessors,
                bytes_text(static_cast<double>(device.memory_bytes)).c_str());
  }
  for (const char* kind : {"cuda", "hip", "virtual"}) {
    const std::string reason = why_no_driver(kind);
    if (!reason.empty()) std::printf("  no %s: %s\n", kind, reason.c_str());
  }
}

void print_compilers() {
  std::puts("\ncompilers");
  for (const generate::CompilerKind& kind : generate::compiler_kinds()) {
    std::string reason;
    const auto compiler = kind.find(reason);
    std::printf("  %-18s %s\n", kind.name,
                compiler != nullptr ? compiler->name().c_str() : ("not found: " + reason).c_str());
  }
}

/// What this build had, as CMake says it (apps/CMakeLists.txt).
void print_build() {
  std::puts("\nbuilt with");
  std::printf("  compiler           %s\n", WAVEFIRE_BUILT_BY);
  std::printf("  GPU kernels        %s\n", WAVEFIRE_BUILT_KERNELS);
  std::printf("  headers compared   %s\n", WAVEFIRE_BUILT_HEADERS);
  std::printf("  virtual Instinct   %s\n", WAVEFIRE_BUILT_VIRTUAL);
}

/// How many kernels are built in for each architecture, and what compiled them.
void print_built_in() {
  const generate::Bundle& bundle = generate::built_in();
  std::map<std::string, int> architectures, compilers;
  for (const std::string& id : bundle.ids()) {
    const auto entry = bundle.load(id);
    if (!entry) continue;
    ++architectures[name_of(generate::parse_spec(entry->spec).architecture)];
    ++compilers[entry->compiler];
  }
  if (architectures.empty()) {
    std::printf("  built in           none (%s)\n", bundle.path().c_str());
    return;
  }
  std::error_code ignored;
  const auto bytes = static_cast<double>(std::filesystem::file_size(bundle.path(), ignored));
  std::string counts;
  for (const auto& [architecture, count] : architectures) {
    counts += (counts.empty() ? "" : ", ") + std::to_string(count) + " " + architecture;
  }
  std::printf("  built in           %s; %s in %s\n", counts.c_str(), bytes_text(bytes).c_str(),
              bundle.path().c_str());
  for (const auto& [compiler, count] : compilers) {
    std::printf("  compiled by        %s\n", compiler.c_str());
  }
}

void print_cache() {
  std::puts("\nkernels");
  std::printf("  headers            %s\n", generate::headers_hash().substr(0, 16).c_str());
  print_built_in();
  std::printf("  compiling          %s\n", config().jit.c_str());
  try {
    const generate::Cache cache(config().cache_dir);
    double bytes = 0;
    const auto entries = cache.list();
    for (const auto& entry : entries) bytes += static_cast<double>(entry.bytes);
    std::printf("  cache              %s, %zu kernels, %s\n", cache.folder().c_str(),
                entries.size(), bytes_text(bytes).c_str());
  } catch (const Error& error) {
    std::printf("  cache              unusable: %s\n", error.what());
  }
}

}  // namespace

int doctor(Arguments arguments) {
  if (!arguments.empty() && arguments[0] == "--report") {
    throw UsageError(
        "a report runs operations from Python: python -m wavefire doctor --report FILE");
  }
  if (!arguments.empty()) throw UsageError("doctor takes no arguments");
  std::printf("wavefire %s, CPU level %s\n", version(), active_cpu_level().c_str());
  print_build();
  print_devices();
  print_compilers();
  print_cache();
  return 0;
}

}  // namespace wavefire::cli
