#include <unistd.h>

#include <array>
#include <cstdio>

#include "commands.h"
#include "generate/bundle.h"
#include "generate/cache.h"
#include "generate/files.h"
#include "generate/generate.h"
#include "generate/resources.h"
#include "generate/source.h"
#include "wavefire/compile.h"
#include "wavefire/config.h"

namespace wavefire::cli {
namespace {

generate::Cache open_cache() { return generate::Cache(config().cache_dir); }

constexpr std::array origins = {"built in", "in the cache", "compiled"};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void expect_one(Arguments arguments, const char* usage) {
  if (arguments.size() != 1) throw UsageError(std::string("usage: wavefire ") + usage);
}

void print_kernel(const char* from, const generate::Entry& entry) {
  const auto r = generate::resources_of(entry.object);
  const auto number = [&](int value) { return r ? std::to_string(value) : std::string("-"); };
  std::printf("%-8s  %9zu  %9s  %9s  %9s  %s\n", from, entry.object.size(),
              number(r ? r->registers : 0).c_str(), number(r ? r->shared_bytes : 0).c_str(),
              number(r ? r->local_bytes : 0).c_str(), first_line(entry.spec).c_str());
}

/// On a terminal, that a compilation goes on and what it took.
void show_progress(const CompileEvent& event) {
  if (event.stage == CompileEvent::Stage::started) {
    std::fprintf(stderr, "compiling %s with %s ...", event.kernel.c_str(), event.compiler.c_str());
  } else {
    std::fprintf(stderr, " %.1f s\n", event.seconds);
  }
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array units = {"bytes", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

int kernels(Arguments arguments) {
  if (!arguments.empty()) throw UsageError("kernels takes no arguments");
  std::printf("%-8s  %9s  %9s  %9s  %9s  %s\n", "from", "bytes", "registers", "shared", "local",
              "kernel");
  const generate::Bundle& bundle = generate::built_in();
  for (const std::string& id : bundle.ids()) {
    if (const auto entry = bundle.load(id)) print_kernel("built in", *entry);
  }
  for (const auto& listed : open_cache().list()) {
    if (!listed.is_broken) print_kernel("cache", listed.entry);
  }
  return 0;
}

int cache(Arguments arguments) {
  expect_one(arguments, "cache list|size|clear");
  const generate::Cache opened = open_cache();
  if (arguments[0] == "list") {
    for (const auto& listed : opened.list()) {
      std::printf("%s  %s\n", listed.key.substr(0, 16).c_str(),
                  listed.is_broken ? "broken" : first_line(listed.entry.spec).c_str());
    }
  } else if (arguments[0] == "size") {
    double bytes = 0;
    const auto entries = opened.list();
    for (const auto& listed : entries) bytes += static_cast<double>(listed.bytes);
    std::printf("%zu kernels, %s\n", entries.size(), bytes_text(bytes).c_str());
  } else if (arguments[0] == "clear") {
    std::printf("%d kernels removed\n", opened.clear());
  } else {
    throw UsageError("cache '" + std::string(arguments[0]) + "'; there are list, size, clear");
  }
  return 0;
}

int compile(Arguments arguments) {
  std::string name, variant, object;
  bool wants_source = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--source") {
      wants_source = true;
    } else if (arguments[i] == "--variant" && i + 1 < arguments.size()) {
      variant = generate::read_file(arguments[++i]);
    } else if (arguments[i] == "--object" && i + 1 < arguments.size()) {
      object = arguments[++i];
    } else if (name.empty() && !arguments[i].starts_with("-")) {
      name = arguments[i];
    } else {
      throw UsageError("compile: unexpected '" + std::string(arguments[i]) + "'");
    }
  }
  if (name.empty()) {
    throw UsageError("usage: wavefire compile SPEC [--variant FILE] [--source] [--object FILE]");
  }
  const generate::KernelSpec spec = generate::parse_spec(name, variant);
  if (wants_source) return std::fputs(generate::source_of(spec).c_str(), stdout) < 0 ? 1 : 0;
  if (isatty(STDERR_FILENO) != 0) set_compile_observer(show_progress);
  auto kernel = generate::find_built_in(spec);
  // One for a relative of that architecture is not what was asked for.
  if (!kernel || kernel->entry != entry_of(spec)) kernel = generate::find_or_compile(spec);
  if (!object.empty()) generate::write_file(object, kernel->object);
  std::printf("%s: %s, %zu bytes\n", name_of(spec).c_str(),
              origins[static_cast<std::size_t>(kernel->origin)], kernel->object.size());
  return 0;
}

}  // namespace wavefire::cli
