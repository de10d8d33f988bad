#include "fake_cuda.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace fake_cuda {

Driver& driver() {
  static Driver& driver = *new Driver;
  return driver;
}

}  // namespace fake_cuda

namespace {

using fake_cuda::driver;
using fake_cuda::Gpu;

constexpr int success = 0, invalid_value = 1, out_of_memory = 2, no_device = 100,
              not_supported = 801;

struct Function {
  std::string name;
};
struct Module {
  std::map<std::string, std::unique_ptr<Function>> functions;
};
struct Allocation {
  int gpu;
  std::size_t bytes;
};

std::mutex mutex;
auto& allocations = *new std::map<std::uint64_t, Allocation>;  // outlives whoever frees at the end
thread_local std::intptr_t context = 0;  // the number of the current GPU, and one

int current_gpu() { return static_cast<int>(context) - 1; }

int attribute_of(const Gpu& gpu, int attribute) {
  constexpr int max_threads_per_block = 1, warp_size = 10, multiprocessors = 16,
                max_threads_per_multiprocessor = 39, capability_major = 75, capability_minor = 76,
                shared_bytes_per_multiprocessor = 81, registers_per_multiprocessor = 82,
                shared_bytes_per_block = 97;
  switch (attribute) {
    case max_threads_per_block: return 1024;
    case warp_size: return 32;
    case multiprocessors: return 4;
    case max_threads_per_multiprocessor: return 2048;
    case capability_major: return gpu.capability / 10;
    case capability_minor: return gpu.capability % 10;
    case shared_bytes_per_multiprocessor:
    case shared_bytes_per_block: return 227 << 10;
    case registers_per_multiprocessor: return 65536;
    default: return 1;
  }
}

template <class T>
int make(T** handle) {
  *handle = new T();
  return success;
}
template <class T>
int destroy(T* handle) {
  delete handle;
  return success;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return driver().init_status; }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}
int cuGetErrorName(int error, const char** name) {
  static std::map<int, std::string> names;
  const std::lock_guard lock(mutex);
  *name = names.try_emplace(error, "FAKE_ERROR_" + std::to_string(error)).first->second.c_str();
  return success;
}
int cuGetErrorString(int, const char** text) {
  *text = "of the fake driver";
  return success;
}

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(driver().gpus.size());
  return driver().init_status == success ? success : no_device;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(bytes));
  return success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int gpu) {
  *bytes = driver().gpus.at(static_cast<std::size_t>(gpu)).memory_bytes;
  return success;
}
int cuDeviceGetAttribute(int* value, int attribute, int gpu) {
  *value = attribute_of(driver().gpus.at(static_cast<std::size_t>(gpu)), attribute);
  return success;
}

int cuDevicePrimaryCtxRetain(std::intptr_t* created, int gpu) {
  *created = gpu + 1;
  return success;
}
int cuCtxGetCurrent(std::intptr_t* current) {
  *current = context;
  return success;
}
int cuCtxSetCurrent(std::intptr_t wanted) {
  context = wanted;
  return success;
}

int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  const Gpu& gpu = driver().gpus.at(static_cast<std::size_t>(current_gpu()));
  *total_bytes = gpu.memory_bytes;
  *free_bytes = gpu.memory_bytes - gpu.used_bytes;
  return success;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  Gpu& gpu = driver().gpus.at(static_cast<std::size_t>(current_gpu()));
  if (bytes > gpu.memory_bytes - gpu.used_bytes) return out_of_memory;
  *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  gpu.used_bytes += bytes;
  allocations[*address] = {current_gpu(), bytes};
  return success;
}
int cuMemFree_v2(std::uint64_t address) {
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(address);
  if (found == allocations.end()) return invalid_value;
  driver().gpus.at(static_cast<std::size_t>(found->second.gpu)).used_bytes -= found->second.bytes;
  allocations.erase(found);
  std::free(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
  return success;
}
int cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  *pointer = std::malloc(bytes);
  return success;
}
int cuMemFreeHost(void* pointer) {
  std::free(pointer);
  return success;
}
int cuMemHostRegister_v2(void*, std::size_t, unsigned) { return success; }
int cuMemHostUnregister(void*) { return success; }
int cuMemcpyAsync(std::uint64_t to, std::uint64_t from, std::size_t bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)),
              reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
  return success;
}
int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void*) {
  std::memset(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)), value, bytes);
  return success;
}

int cuStreamCreateWithPriority(int** stream, unsigned, int) { return make(stream); }
int cuStreamDestroy_v2(int* stream) { return destroy(stream); }
int cuStreamQuery(void*) { return success; }
int cuStreamSynchronize(void*) { return success; }
int cuStreamWaitEvent(void*, void*, unsigned) { return success; }
int cuStreamBeginCapture_v2(void*, int) { return not_supported; }
int cuStreamEndCapture(void*, void**) { return not_supported; }
int cuStreamIsCapturing(void*, int* status) {
  *status = 0;
  return success;
}
int cuEventCreate(int** event, unsigned) { return make(event); }
int cuEventDestroy_v2(int* event) { return destroy(event); }
int cuEventRecord(void*, void*) { return success; }
int cuEventQuery(void*) { return success; }
int cuEventSynchronize(void*) { return success; }
int cuEventElapsedTime(float*, void*, void*) { return not_supported; }
int cuGraphInstantiateWithFlags(void**, void*, unsigned long long) { return not_supported; }
int cuGraphLaunch(void*, void*) { return not_supported; }
int cuGraphDestroy(void*) { return not_supported; }
int cuGraphExecDestroy(void*) { return not_supported; }

int cuModuleLoadDataEx(Module** module, const void* image, unsigned, int*, void**) {
  const bool is_ptx = std::memcmp(image, "//", 2) == 0;  // as NVIDIA's compilers begin it
  if (is_ptx && driver().ptx_status != success) return driver().ptx_status;
  return make(module);
}
int cuModuleUnload(Module* module) { return destroy(module); }
int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  std::unique_ptr<Function>& known = module->functions[name];
  if (!known) known = std::make_unique<Function>(Function{name});
  *function = known.get();
  return success;
}
int cuFuncGetAttribute(int* value, int attribute, Function*) {
  constexpr int max_threads_per_block = 0;
  *value = attribute == max_threads_per_block ? 1024 : 0;
  return success;
}
int cuFuncSetAttribute(Function*, int, int) { return success; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function*, int, std::size_t) {
  *blocks = 1;
  return success;
}
int cuLaunchKernel(Function* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, void*, void**, void**) {
  if (driver().launch_status != success) return driver().launch_status;
  driver().launches.push_back({function->name, current_gpu()});
  return success;
}
int cuTensorMapEncodeTiled(void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*,
                           const std::uint32_t*, const std::uint32_t*, int, int, int, int) {
  return not_supported;
}

}  // extern "C"
