#include "device/cpu/parallel.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/log.h"
#include "wavefire/config.h"

namespace wavefire::cpu {
namespace {

/// The entry points of an OpenMP runtime. GNU's, Intel's and LLVM's all have them.
struct OpenMp {
  void (*parallel)(void (*)(void*), void*, unsigned threads, unsigned flags) = nullptr;
  int (*max_threads)() = nullptr;
  int (*thread)() = nullptr;
  int (*threads)() = nullptr;
  int (*in_parallel)() = nullptr;

  explicit operator bool() const { return parallel != nullptr; }
};

OpenMp open_runtime(const char* path, int flags) {
  OpenMp omp;
  void* library = dlopen(path, flags);
  if (library == nullptr) return omp;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  if (load(omp.max_threads, "omp_get_max_threads") && load(omp.thread, "omp_get_thread_num") &&
      load(omp.threads, "omp_get_num_threads") && load(omp.in_parallel, "omp_in_parallel") &&
      load(omp.parallel, "GOMP_parallel")) {
    core::log(LogLevel::info, core::join("parallel: OpenMP runtime ", path));
    return omp;
  }
  return {};
}

/// The path of a mapped OpenMP runtime, also of a copy with another name (PyTorch's wheel brings
/// libgomp-<hash>.so): a second runtime would compete with it for the cores.
std::string mapped_runtime() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const std::string_view name = slash != nullptr ? slash + 1 : info->dlpi_name;
        for (std::string_view prefix : {"libgomp", "libiomp5", "libomp"}) {
          if (name.starts_with(prefix) && name.find(".so") != std::string_view::npos) {
            *static_cast<std::string*>(data) = info->dlpi_name;
            return 1;
          }
        }
        return 0;
      },
      &found);
  return found;
}

/// Looked for until found: a framework may be imported after us.
const OpenMp& runtime(bool may_load) {
  static std::mutex mutex;
  static std::atomic<const OpenMp*> known{nullptr};
  static const OpenMp none;
  if (const OpenMp* omp = known.load(std::memory_order_acquire)) return *omp;
  const std::lock_guard lock(mutex);
  if (const OpenMp* omp = known.load(std::memory_order_acquire)) return *omp;
  OpenMp omp;
  if (const std::string path = mapped_runtime(); !path.empty()) {
    omp = open_runtime(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  }
  if (!omp && may_load) omp = open_runtime("libgomp.so.1", RTLD_NOW);
  if (!omp) return none;
  known.store(new OpenMp(omp), std::memory_order_release);  // lives as long as the process
  return *known.load(std::memory_order_acquire);
}

thread_local bool inside_parallel = false;

struct Loop {
  int count;
  const std::function<void(int)>& f;
  std::atomic<int> next{0};
  std::mutex mutex{};
  std::exception_ptr error{};

  void work() {
    const bool before = std::exchange(inside_parallel, true);
    for (int i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        f(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
    inside_parallel = before;
  }
};

void run_threads(Loop& loop, int threads) {
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back([&loop] { loop.work(); });
  loop.work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace

int thread_count() {
  const Config& settings = config();
  if (inside_parallel || settings.parallel == "serial") return 1;
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (settings.parallel != "threads") {
    const OpenMp& omp = runtime(true);
    if (!omp && settings.parallel == "openmp") {
      core::fail_unsupported("parallel", "WAVEFIRE_PARALLEL=openmp, but no OpenMP runtime is here");
    }
    if (omp) threads = omp.in_parallel() != 0 ? 1 : omp.max_threads();
  }
  if (settings.num_threads > 0) threads = std::min(threads, settings.num_threads);
  return std::max(1, threads);
}

void parallel_for(int count, const std::function<void(int)>& f) {
  const int threads = std::min(count, count > 1 ? thread_count() : 1);
  if (threads <= 1) {
    for (int i = 0; i < count; ++i) f(i);
    return;
  }
  Loop loop{count, f};
  if (config().parallel == "threads" || !runtime(true)) {
    run_threads(loop, threads);
  } else {
    runtime(true).parallel([](void* data) { static_cast<Loop*>(data)->work(); }, &loop,
                           static_cast<unsigned>(threads), 0);
  }
  if (loop.error) std::rethrow_exception(loop.error);
}

void parallel_ranges(std::int64_t size, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& f) {
  if (size <= 0) return;
  const std::int64_t wanted = (size + grain - 1) / grain;
  const int parts =
      wanted <= 1 ? 1 : static_cast<int>(std::min<std::int64_t>(wanted, thread_count()));
  if (parts == 1) return f(0, size);
  parallel_for(parts, [&](int i) { f(size * i / parts, size * (i + 1) / parts); });
}

}  // namespace wavefire::cpu
