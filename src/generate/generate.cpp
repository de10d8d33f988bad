#include "generate/generate.h"

#include <chrono>
#include <map>
#include <mutex>

#include "core/check.h"
#include "core/log.h"
#include "generate/cache.h"
#include "generate/compiler.h"
#include "generate/headers.h"
#include "generate/sha256.h"
#include "generate/source.h"
#include "generate/target.h"
#include "wavefire/compile.h"
#include "wavefire/config.h"

namespace wavefire {
namespace {

std::mutex observer_mutex;
std::shared_ptr<const CompileObserver> observer;

void tell(const CompileEvent& event) {
  std::shared_ptr<const CompileObserver> target;
  {
    const std::lock_guard lock(observer_mutex);
    target = observer;
  }
  if (target) (*target)(event);
}

}  // namespace

void set_compile_observer(CompileObserver new_observer) {
  const std::lock_guard lock(observer_mutex);
  observer =
      new_observer ? std::make_shared<const CompileObserver>(std::move(new_observer)) : nullptr;
}

namespace generate {
namespace {

constexpr std::size_t id_digits = 32;  // of the 64 of a hash

/// The key of the cache: the kernel, then what compiles it.
std::string key_of(const KernelSpec& spec, const Compiler& compiler) {
  return kernel_id(spec) +
         sha256(compiler.identity(target_of(spec.architecture))).substr(0, id_digits);
}

/// Compiles, and tells the observer and the log.
Entry compile(const KernelSpec& spec, const Compiler& compiler,
              const std::filesystem::path& folder) {
  using Stage = CompileEvent::Stage;
  using Clock = std::chrono::steady_clock;
  const std::string name = name_of(spec);
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  core::log(LogLevel::info, core::join("generate: compiling ", name, " with ", compiler.name()));
  tell({Stage::started, name, compiler.name(), 0});
  try {
    Entry entry = {text_of(spec), compiler.name(), compiler.compile(spec, source_of(spec), folder)};
    core::log(LogLevel::info, core::join("generate: compiled ", name, " in ", seconds(), " s"));
    tell({Stage::finished, name, compiler.name(), seconds()});
    return entry;
  } catch (...) {
    tell({Stage::failed, name, compiler.name(), seconds()});
    throw;
  }
}

std::shared_ptr<const Kernel> kernel_of(const KernelSpec& spec, Entry entry, Origin origin) {
  return std::make_shared<const Kernel>(
      Kernel{entry_of(spec), std::move(entry.object), std::move(entry.compiler), origin});
}

std::shared_ptr<const Kernel> load_or_compile(const KernelSpec& spec, const Compiler& compiler,
                                              const Cache& cache) {
  const std::string key = key_of(spec, compiler);
  if (auto entry = cache.load(key)) return kernel_of(spec, std::move(*entry), Origin::cached);
  const Cache::Writer writer(cache, key);
  // Whoever had the lock before has most likely compiled it.
  if (auto entry = cache.load(key)) return kernel_of(spec, std::move(*entry), Origin::cached);
  Entry entry = compile(spec, compiler, writer.work_folder());
  writer.store(entry);
  return kernel_of(spec, std::move(entry), Origin::compiled);
}

/// Where nothing can be compiled: whatever compiler made the entry.
std::shared_ptr<const Kernel> load_compiled(const KernelSpec& spec, const Cache& cache) {
  auto entry = cache.load_any(kernel_id(spec));
  return entry ? kernel_of(spec, std::move(*entry), Origin::cached) : nullptr;
}

bool can_compile(const KernelSpec& spec) {
  if (config().jit == "off") return false;
  try {
    return compiler_for(spec) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string kernel_id(const KernelSpec& spec) {
  const char separator = '\0';
  const std::string all =
      core::join(text_of(spec), separator, source_of(spec), separator, headers_hash());
  return sha256(all).substr(0, id_digits);
}

std::shared_ptr<const Kernel> find_built_in(const KernelSpec& spec, const Bundle& bundle) {
  for (const Architecture architecture : code_for(spec.architecture)) {
    KernelSpec suitable = spec;
    suitable.architecture = architecture;
    if (needs_clusters(spec) && !target_of(architecture).has_clusters) continue;
    if (auto entry = bundle.load(kernel_id(suitable))) {
      return kernel_of(suitable, std::move(*entry), Origin::built_in);
    }
  }
  return nullptr;
}

bool can_provide(const KernelSpec& spec) {
  return can_compile(spec) || find_built_in(spec) || load_compiled(spec, Cache(config().cache_dir));
}

std::shared_ptr<const Kernel> provide(const KernelSpec& spec) {
  check_spec(spec);
  auto kernel = find_built_in(spec);
  return kernel ? kernel : find_or_compile(spec);
}

std::shared_ptr<const Kernel> find_or_compile(const KernelSpec& spec) {
  check_spec(spec);
  const Cache cache(config().cache_dir);
  if (config().jit == "off") {
    if (auto kernel = load_compiled(spec, cache)) return kernel;
    throw Error(ErrorKind::compile,
                core::join("generate: ", name_of(spec), " is neither built in nor in the cache ",
                           cache.folder().string(),
                           ", and compiling is off (WAVEFIRE_JIT=off); compile it "
                           "beforehand: wavefire compile '",
                           name_of(spec), "'"));
  }
  std::shared_ptr<const Compiler> compiler;
  try {
    compiler = compiler_for(spec);
  } catch (const Error&) {
    if (auto kernel = load_compiled(spec, cache)) return kernel;
    throw;
  }
  return load_or_compile(spec, *compiler, cache);
}

}  // namespace generate
}  // namespace wavefire
