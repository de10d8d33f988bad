// wavefire: what is installed, which kernels there are, the cache, compiling by hand.
#include <cstdio>
#include <exception>
#include <vector>

#include "commands.h"
#include "wavefire/error.h"
#include "wavefire/version.h"

namespace wavefire::cli {
namespace {

constexpr const char* help =
    R"(usage: wavefire COMMAND

  doctor                    what Wavefire finds here: devices, drivers, compilers, the cache
      --report FILE           write all that a maintainer needs to a file: that, the settings and
                              a small run of each operation (python -m wavefire only)
  kernels                   kernels built in and compiled, with what each takes of its processor
  compile SPEC              compile a kernel into the cache, unless it is there
      --variant FILE          with the user's source that the kernel is made of
      --source                print its source instead
      --object FILE           write what was compiled there too
  bundle LIST FILE ARCH...  compile the kernels of a list, for each architecture, into a bundle
      --and LIST ARCH...      and those of another list
  cache list                entries with their keys
  cache size                their number and bytes
  cache clear               remove all
  version, help

A SPEC names a kernel, as logs and errors do: norm.avx2:kind=rms,dtype=bfloat16
Status: 0 done, 1 it failed, 2 the command line is wrong.
)";

int run(Arguments arguments) {
  if (arguments.empty()) throw UsageError("no command");
  const std::string_view command = arguments[0];
  const Arguments rest = arguments.subspan(1);
  if (command == "doctor") return doctor(rest);
  if (command == "kernels") return kernels(rest);
  if (command == "cache") return cache(rest);
  if (command == "compile") return compile(rest);
  if (command == "bundle") return bundle(rest);
  if (command == "version" || command == "--version") return std::puts(version()) < 0 ? 1 : 0;
  if (command == "help" || command == "--help" || command == "-h") {
    return std::fputs(help, stdout) < 0 ? 1 : 0;
  }
  throw UsageError("unknown command '" + std::string(command) + "'");
}

}  // namespace
}  // namespace wavefire::cli

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  try {
    return wavefire::cli::run(arguments);
  } catch (const wavefire::cli::UsageError& error) {
    std::fprintf(stderr, "wavefire: %s; see wavefire help\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wavefire: %s\n", error.what());
    return 1;
  }
}
