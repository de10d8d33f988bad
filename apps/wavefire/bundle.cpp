// Compiling many kernels into one file: what a build does for the kernels that it carries.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "commands.h"
#include "core/check.h"
#include "generate/bundle.h"
#include "generate/files.h"
#include "generate/generate.h"

namespace wavefire::cli {
namespace {

constexpr const char* usage = "usage: wavefire bundle LIST FILE ARCH... [--and LIST ARCH...]";

/// On one line of a terminal.
void print_progress(std::size_t done, const std::vector<generate::KernelSpec>& specs) {
  std::fprintf(stderr, "\r%zu of %zu kernels%s", done, specs.size(),
               done == specs.size() ? "\n" : "");
}

/// The kernels of `list` for the architectures up to "--and", behind which stand another list and
/// its own.
std::vector<generate::KernelSpec> specs_of(std::string_view list, Arguments rest) {
  const auto end = std::find(rest.begin(), rest.end(), "--and");
  const Arguments architectures(rest.begin(), end);
  const Arguments others(end, rest.end());
  if (architectures.empty() || (!others.empty() && others.size() < 3)) throw UsageError(usage);
  std::vector<generate::KernelSpec> specs =
      generate::specs_of_list(generate::read_file(list), architectures);
  if (!others.empty()) {
    for (const generate::KernelSpec& spec : specs_of(others[1], others.subspan(2))) {
      specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace

int bundle(Arguments arguments) {
  if (arguments.size() < 3) throw UsageError(usage);
  const std::vector<generate::KernelSpec> specs = specs_of(arguments[0], arguments.subspan(2));
  std::map<std::string, generate::Entry> entries;
  std::string errors;  // of all kernels that do not come about
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  const auto compile_some = [&] {
    for (std::size_t i = next++; i < specs.size(); i = next++) {
      try {
        const auto kernel = generate::find_or_compile(specs[i]);
        generate::require_registers_only(specs[i], kernel->object);
        const std::lock_guard lock(mutex);
        entries[generate::kernel_id(specs[i])] = {text_of(specs[i]), kernel->compiler,
                                                  kernel->object};
        if (shows_progress) print_progress(entries.size(), specs);
      } catch (const Error& error) {
        const std::lock_guard lock(mutex);
        errors += core::join(errors.empty() ? "" : "\n", error.what());
      }
    }
  };
  {
    std::vector<std::jthread> threads(std::max(1u, std::thread::hardware_concurrency()));
    for (std::jthread& thread : threads) thread = std::jthread(compile_some);
  }
  if (!errors.empty()) throw Error(ErrorKind::compile, errors);
  generate::write_bundle(arguments[1], entries);
  std::printf("%zu kernels in %s\n", entries.size(), std::string(arguments[1]).c_str());
  return 0;
}

}  // namespace wavefire::cli
