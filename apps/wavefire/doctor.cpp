#include <cstdio>

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

void print_cache() {
  std::puts("\nkernels");
  std::printf("  headers            %s\n", generate::headers_hash().substr(0, 16).c_str());
  std::printf("  built in           %zu in %s\n", generate::built_in().ids().size(),
              generate::built_in().path().c_str());
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
  print_devices();
  print_compilers();
  print_cache();
  return 0;
}

}  // namespace wavefire::cli
