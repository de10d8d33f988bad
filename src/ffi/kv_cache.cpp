// The KV cache manager and the process's settings for Python.
#include "wavefire/kv_cache.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include <charconv>
#include <mutex>

#include "ffi/tensors.h"
#include "wavefire/compile.h"
#include "wavefire/config.h"
#include "wavefire/version.h"

namespace wavefire::bindings {
namespace {

using Ints = tvm::ffi::Array<std::int64_t>;

/// Python's threads take turns.
struct SharedCache {
  KvCache cache;
  std::mutex mutex;
};

SharedCache& shared(std::int64_t handle) { return *reinterpret_cast<SharedCache*>(handle); }

/// Calls `f` with the cache while nobody else does.
template <class F>
auto with_cache(std::int64_t handle, F&& f) {
  return guarded([&] {
    const std::lock_guard lock(shared(handle).mutex);
    return f(shared(handle).cache);
  });
}

/// A contiguous i32 tensor as tokens.
std::span<const std::int32_t> tokens_of(const Tensor& tensor) {
  const TensorView view = view_of(tensor);
  if (view.rank != 1 || view.dtype != DType::i32 || !view.is_contiguous()) {
    throw Error(ErrorKind::invalid_argument, "KvCache: 'tokens' is " + to_string(view) +
                                                 "; accepted: contiguous int32 of rank 1");
  }
  return {view.as<const std::int32_t>(), static_cast<std::size_t>(view.shape[0])};
}

Ints to_array(const auto& values) {
  Ints result;
  for (const auto value : values) result.push_back(static_cast<std::int64_t>(value));
  return result;
}

std::int64_t kv_cache_create(std::int64_t num_pages, std::int64_t page_size, bool share_prefixes) {
  return guarded([&] {
    return reinterpret_cast<std::int64_t>(new SharedCache{
        KvCache({num_pages, to_int("KvCache", "page_size", page_size), share_prefixes}), {}});
  });
}
void kv_cache_destroy(std::int64_t handle) { delete &shared(handle); }

Ints kv_cache_create_sequence(std::int64_t handle, Tensor tokens) {
  return with_cache(handle, [&](KvCache& cache) {
    const KvCache::Created created = cache.create(tokens_of(tokens));
    return Ints{created.id, created.cached_tokens};
  });
}

/// Copies as (from, to, tokens) one after the other.
Ints kv_cache_append(std::int64_t handle, std::int64_t id, Tensor tokens) {
  return with_cache(handle, [&](KvCache& cache) {
    Ints result;
    for (const PageCopy& copy : cache.append(id, tokens_of(tokens))) {
      for (std::int32_t value : {copy.from, copy.to, copy.tokens}) result.push_back(value);
    }
    return result;
  });
}

void kv_cache_truncate(std::int64_t handle, std::int64_t id, std::int64_t length) {
  with_cache(handle, [&](KvCache& cache) { cache.truncate(id, length); });
}
std::int64_t kv_cache_fork(std::int64_t handle, std::int64_t id) {
  return with_cache(handle, [&](KvCache& cache) { return cache.fork(id); });
}
void kv_cache_commit(std::int64_t handle, std::int64_t id, std::int64_t length) {
  with_cache(handle, [&](KvCache& cache) { cache.commit(id, length); });
}
void kv_cache_release(std::int64_t handle, std::int64_t id) {
  with_cache(handle, [&](KvCache& cache) { cache.release(id); });
}
std::int64_t kv_cache_length(std::int64_t handle, std::int64_t id) {
  return with_cache(handle, [&](KvCache& cache) { return cache.length(id); });
}
Ints kv_cache_tokens(std::int64_t handle, std::int64_t id) {
  return with_cache(handle, [&](KvCache& cache) { return to_array(cache.tokens(id)); });
}
Ints kv_cache_pages(std::int64_t handle, std::int64_t id) {
  return with_cache(handle, [&](KvCache& cache) { return to_array(cache.pages(id)); });
}
std::int64_t kv_cache_pages_needed(std::int64_t handle, std::int64_t id, std::int64_t count) {
  return with_cache(handle, [&](KvCache& cache) { return cache.pages_needed(id, count); });
}
void kv_cache_drop_cached(std::int64_t handle) {
  with_cache(handle, [](KvCache& cache) { cache.drop_cached(); });
}

Ints kv_cache_stats(std::int64_t handle) {
  return with_cache(handle, [](KvCache& cache) {
    const KvCacheStats s = cache.stats();
    return Ints{s.total, s.free, s.used, s.cached, s.shared, s.sequences, s.tokens};
  });
}

/// indptr, indices, last_page_len, seq_lens.
tvm::ffi::Array<Ints> kv_cache_tables(std::int64_t handle, Ints ids) {
  return with_cache(handle, [&](KvCache& cache) {
    const std::vector<std::int64_t> list(ids.begin(), ids.end());
    const KvTables t = cache.tables(list);
    return tvm::ffi::Array<Ints>{to_array(t.indptr), to_array(t.indices), to_array(t.last_page_len),
                                 to_array(t.seq_lens)};
  });
}

tvm::ffi::Array<tvm::ffi::String> dtype_names() {
  tvm::ffi::Array<tvm::ffi::String> names;
  for (int code = 0; code < dtype_count; ++code) names.push_back(name_of(static_cast<DType>(code)));
  return names;
}

tvm::ffi::String library_version() { return version(); }

tvm::ffi::String cpu_level() {
  std::string level;
  guarded([&] { level = active_cpu_level(); });
  return level;
}

using Strings = tvm::ffi::Array<tvm::ffi::String>;

int whole_number(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    throw Error(ErrorKind::invalid_argument,
                "configure: 'num_threads' is '" + text + "'; accepted: a whole number");
  }
  return value;
}

void set_value(Config& settings, const std::string& name, const std::string& value) {
  if (name == "cpu_level") {
    settings.cpu_level = value;
  } else if (name == "parallel") {
    settings.parallel = value;
  } else if (name == "log_level") {
    settings.log_level = value;
  } else if (name == "num_threads") {
    settings.num_threads = whole_number(value);
  } else if (name == "virtual_library") {
    settings.virtual_library = value;
  } else {
    throw Error(ErrorKind::invalid_argument, "configure: '" + name +
                                                 "' is no setting; accepted: cpu_level, parallel, "
                                                 "log_level, num_threads, virtual_library");
  }
}

/// All of them or, on an error, none.
void set_config_values(const Strings& names, const Strings& values) {
  guarded([&] {
    Config settings = config();
    for (std::size_t i = 0; i < names.size(); ++i) {
      set_value(settings, names[static_cast<std::int64_t>(i)],
                values[static_cast<std::int64_t>(i)]);
    }
    set_config(settings);
  });
}

void set_compile_observer_(const tvm::ffi::Optional<tvm::ffi::Function>& observer) {
  if (!observer.has_value()) return set_compile_observer({});
  set_compile_observer([call = *observer](const CompileEvent& event) {
    constexpr const char* stages[] = {"started", "finished", "failed"};
    call(stages[static_cast<std::size_t>(event.stage)], event.kernel, event.compiler,
         event.seconds);
  });
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_create, kv_cache_create);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_destroy, kv_cache_destroy);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_create_sequence, kv_cache_create_sequence);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_append, kv_cache_append);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_truncate, kv_cache_truncate);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_fork, kv_cache_fork);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_commit, kv_cache_commit);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_release, kv_cache_release);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_length, kv_cache_length);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_tokens, kv_cache_tokens);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_pages, kv_cache_pages);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_pages_needed, kv_cache_pages_needed);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_drop_cached, kv_cache_drop_cached);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_stats, kv_cache_stats);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kv_cache_tables, kv_cache_tables);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(dtype_names, dtype_names);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(library_version, library_version);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(cpu_level, cpu_level);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(set_config_values, set_config_values);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(set_compile_observer, set_compile_observer_);

}  // namespace wavefire::bindings
