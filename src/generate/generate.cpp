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

std::string key_of(const KernelSpec& spec, const Compiler& compiler) {
  const char separator = '\0';
  const std::string identity = compiler.identity(target_of(spec.architecture));
  const std::string all = core::join(text_of(spec), separator, identity, separator, headers_hash());
  return sha256(all);
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
  return std::make_shared<const Kernel>(Kernel{entry_of(spec), std::move(entry.object), origin});
}

std::shared_ptr<const Kernel> load_or_compile(const KernelSpec& spec, const Compiler& compiler,
                                              const std::string& key) {
  const Cache cache(config().cache_dir);
  if (auto entry = cache.load(key)) return kernel_of(spec, std::move(*entry), Origin::cached);
  if (config().jit == "off") {
    throw Error(
        ErrorKind::compile,
        core::join("generate: ", name_of(spec), " is not in the cache ", cache.folder().string(),
                   " and compiling is off (WAVEFIRE_JIT=off); compile it beforehand: "
                   "wavefire compile '",
                   name_of(spec), "'"));
  }
  const Cache::Writer writer(cache, key);
  // Whoever had the lock before has most likely compiled it.
  if (auto entry = cache.load(key)) return kernel_of(spec, std::move(*entry), Origin::cached);
  Entry entry = compile(spec, compiler, writer.work_folder());
  writer.store(entry);
  return kernel_of(spec, std::move(entry), Origin::compiled);
}

}  // namespace

std::shared_ptr<const Kernel> provide(const KernelSpec& spec) {
  check_spec(spec);
  const std::shared_ptr<const Compiler> compiler = compiler_for(spec);
  return load_or_compile(spec, *compiler, key_of(spec, *compiler));
}

}  // namespace generate
}  // namespace wavefire
