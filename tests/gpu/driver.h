// The CUDA driver as the checks and measurements here need it. Any failure ends the program with
// status 2 and says which call failed.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace wavefire::gpu {

inline void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(result, &text);
  std::fprintf(stderr, "%s: %s\n", what, text != nullptr ? text : "unknown error");
  std::exit(2);
}

#define WF_MUST(call) ::wavefire::gpu::must(call, #call)

/// Device memory.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) {
    WF_MUST(cuMemAlloc(&memory_, bytes > 0 ? bytes : 16));
  }
  template <class T>
  explicit Buffer(const std::vector<T>& host) : Buffer(host.size() * sizeof(T)) {
    upload(host);
  }
  ~Buffer() { cuMemFree(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <class T>
  void upload(const std::vector<T>& host) {
    if (!host.empty()) WF_MUST(cuMemcpyHtoD(memory_, host.data(), host.size() * sizeof(T)));
  }
  template <class T>
  std::vector<T> download() const {
    std::vector<T> host(bytes_ / sizeof(T));
    if (!host.empty()) WF_MUST(cuMemcpyDtoH(host.data(), memory_, host.size() * sizeof(T)));
    return host;
  }
  /// Every byte becomes 0xff: NaN in every floating point type.
  void poison() { WF_MUST(cuMemsetD8(memory_, 0xff, bytes_)); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(memory_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  CUdeviceptr memory_ = 0;
};

class Context {
 public:
  Context() {
    WF_MUST(cuInit(0));
    WF_MUST(cuDeviceGet(&device_, 0));
    WF_MUST(cuDevicePrimaryCtxRetain(&context_, device_));
    WF_MUST(cuCtxSetCurrent(context_));
  }
  int multiprocessors() const {
    int count = 0;
    WF_MUST(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_));
    return count;
  }

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

class Module {
 public:
  explicit Module(const char* path) { WF_MUST(cuModuleLoad(&module_, path)); }
  CUfunction function(const char* name, int shared_bytes = 0) const {
    CUfunction f = nullptr;
    if (cuModuleGetFunction(&f, module_, name) != CUDA_SUCCESS) {
      std::fprintf(stderr, "no kernel %s\n", name);
      std::exit(2);
    }
    if (shared_bytes > 48 * 1024) {
      WF_MUST(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes));
    }
    return f;
  }

 private:
  CUmodule module_ = nullptr;
};

struct Launch {
  CUfunction function;
  unsigned blocks;
  unsigned threads;
  unsigned shared_bytes = 0;

  /// The kernel's only argument is `params`.
  template <class Params>
  void operator()(const Params& params) const {
    void* arguments[] = {const_cast<Params*>(&params)};
    WF_MUST(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared_bytes, nullptr, arguments,
                           nullptr));
  }
};

inline void synchronize() { WF_MUST(cuCtxSynchronize()); }

/// The threads of a block, as the kernel was compiled for.
inline unsigned threads_of(CUfunction f) {
  int threads = 0;
  WF_MUST(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
  return static_cast<unsigned>(threads);
}

/// Blocks of a kernel that run at once on one multiprocessor.
inline int resident_blocks(CUfunction f, int threads, int shared_bytes) {
  int count = 0;
  WF_MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, f, threads,
                                                      static_cast<std::size_t>(shared_bytes)));
  return count;
}

}  // namespace wavefire::gpu
