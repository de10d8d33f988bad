#include "generate/store.h"

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "core/check.h"
#include "core/log.h"
#include "generate/fields.h"
#include "generate/generate.h"
#include "generate/resources.h"
#include "generate/target.h"

namespace wavefire::generate {
namespace {

struct Key {
  const device::Gpu* gpu;
  KernelConfig config;
  bool operator==(const Key&) const = default;
};

struct Hash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = reinterpret_cast<std::uintptr_t>(key.gpu) + key.config.index();
    const auto mix = [&](std::string_view, auto value) {
      hash = (hash ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    };
    std::visit([&](const auto& config) { visit_fields(config, mix); }, key.config);
    return hash;
  }
};

struct Loaded {
  device::Module module;  // which the kernel belongs to
  LoadedKernel kernel;
};

/// It lives as long as the process: drivers outlast static objects.
struct Store {
  std::shared_mutex mutex;
  std::unordered_map<Key, std::unique_ptr<const Loaded>, Hash> kernels;
};
Store& store() {
  static Store& store = *new Store;
  return store;
}

const LoadedKernel* find_loaded(const Key& key) {
  const std::shared_lock lock(store().mutex);
  const auto found = store().kernels.find(key);
  return found != store().kernels.end() ? &found->second->kernel : nullptr;
}

struct Code {
  std::shared_ptr<const Kernel> kernel;
  device::Module module;
};

Code load_code(device::Gpu& gpu, const KernelSpec& spec) {
  const auto load = [&](std::shared_ptr<const Kernel> kernel) {
    device::Module module = gpu.load(std::as_bytes(std::span(kernel->object)));
    return Code{std::move(kernel), std::move(module)};
  };
  auto built_in = find_built_in(spec);
  if (!built_in) return load(find_or_compile(spec));
  try {
    return load(std::move(built_in));
  } catch (const Error& error) {
    // A driver takes no PTX of a later release than its own; a compiler here may be of its age.
    if (error.kind() != ErrorKind::unsupported) throw;
    const std::string refusal =
        core::join("generate: this driver does not take what is built in: ", error.what());
    core::log(LogLevel::warning, refusal);
    try {
      return load(find_or_compile(spec));
    } catch (const Error& second) {
      throw Error(second.kind(), core::join(second.what(), "; ", refusal));
    }
  }
}

std::unique_ptr<const Loaded> load(device::Gpu& gpu, const KernelSpec& spec) {
  auto [kernel, module] = load_code(gpu, spec);
  const std::optional<LaunchInfo> info = launch_info_of(kernel->object, kernel->entry);
  if (!info) {
    throw Error(ErrorKind::internal,
                core::join("generate: the object of ", name_of(spec), " does not say its launch"));
  }
  const auto dynamic_bytes = static_cast<unsigned>(info->dynamic_shared_bytes);
  const device::Kernel function = module.kernel(kernel->entry, info->dynamic_shared_bytes);
  return std::make_unique<const Loaded>(
      Loaded{std::move(module),
             {function, static_cast<unsigned>(info->threads), dynamic_bytes,
              function.blocks_per_multiprocessor(info->threads, dynamic_bytes)}});
}

}  // namespace

bool has_kernel_on(device::Gpu& gpu, const KernelConfig& config, Architecture architecture) {
  return find_loaded({&gpu, config}) != nullptr || can_provide({architecture, config});
}

const LoadedKernel& kernel_on(device::Gpu& gpu, const KernelConfig& config,
                              std::optional<Architecture> architecture) {
  const Key key{&gpu, config};
  if (const LoadedKernel* kernel = find_loaded(key)) return *kernel;
  // Without the lock: a compilation may take long. Threads that come together share it, and the
  // first to load it stays.
  const KernelSpec spec{
      architecture ? *architecture : architecture_of_gpu(gpu.properties().architecture), config};
  std::unique_ptr<const Loaded> loaded = load(gpu, spec);
  const std::lock_guard lock(store().mutex);
  return store().kernels.try_emplace(key, std::move(loaded)).first->second->kernel;
}

}  // namespace wavefire::generate
