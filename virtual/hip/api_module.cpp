// Modules, kernels and their launch.
#include "virtual/hip/graph.h"
#include "virtual/hip/hip_api.h"
#include "virtual/hip/image.h"
#include "virtual/hip/launch.h"
#include "virtual/hip/properties.h"
#include "virtual/hip/stream.h"

using namespace instinct;
using namespace instinct::hip;

namespace {

void load(hipModule_t* module, const std::vector<std::byte>& file) {
  Runtime& runtime = Runtime::get();
  *module = runtime.modules.add(runtime.load(runtime.current(), file));
}

int function_attribute(const Function& function, hipFunction_attribute attribute) {
  const Kernel& kernel = *function.kernel;
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return static_cast<int>(kernel.max_threads);
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return static_cast<int>(kernel.descriptor.lds_bytes);
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(kernel.descriptor.scratch_bytes);
    case HIP_FUNC_ATTRIBUTE_NUM_REGS: return static_cast<int>(kernel.vgprs);
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION: return 9 * 10;  // as HIP computes it: 10 * major
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return static_cast<int>(lds_limit(function.object->target()) - kernel.descriptor.lds_bytes);
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return 0;
  }
  throw Failure(hipErrorInvalidValue, "unknown attribute of a function");
}

void launch(const KernelRun& run, hipStream_t stream, hipEvent_t start, hipEvent_t stop) {
  const auto target = stream_of(stream);
  const auto record_in = [&](hipEvent_t event) {
    if (event) record(Runtime::get().events.find(event), *target);
  };
  record_in(start);
  submit(*target, run);
  record_in(stop);
}

// Threads to workgroups: there are no partial ones.
u32 groups_of(u32 threads, u32 block) {
  require(block && threads % block == 0, "the grid is not a multiple of the block",
          hipErrorInvalidConfiguration);
  return threads / block;
}

}  // namespace

extern "C" {

hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  return call(__func__, [&] {
    require(module && path, "module or path is null");
    load(module, hip::read_file(path));
  });
}

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return call(__func__, [&] {
    require(module, "module is null");
    load(module, read_image(image));
  });
}

hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned int, hipJitOption*,
                               void**) {
  return hipModuleLoadData(module, image);
}

hipError_t hipModuleUnload(hipModule_t module) {
  return call(__func__, [&] {
    Runtime& runtime = Runtime::get();
    const auto removed = runtime.modules.remove(module);
    removed->device->null_stream()->run_all();
    for (const auto& stream : runtime.streams.all()) stream->run_all();
    const std::lock_guard lock(removed->mutex);
    for (const auto& [name, function] : removed->functions) runtime.functions.remove(function);
    unload(*removed);
  });
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return call(__func__, [&] {
    require(function && name, "function or name is null");
    Runtime& runtime = Runtime::get();
    const auto found = runtime.modules.find(module);
    const std::lock_guard lock(found->mutex);
    for (const auto& [known, handle] : found->functions) {
      if (known == name) {
        *function = handle;
        return;
      }
    }
    const Kernel* kernel = found->object->find_kernel(name);
    if (!kernel) {
      throw Failure(hipErrorNotFound, "the module has no kernel '" + std::string(name) + "'");
    }
    *function = runtime.functions.add(
        std::make_shared<Function>(Function{found->device, found->object, kernel}));
    found->functions.emplace_back(name, *function);
  });
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t* pointer, size_t* bytes, hipModule_t module,
                              const char* name) {
  return call(__func__, [&] {
    require(name, "name is null");
    const auto found = Runtime::get().modules.find(module);
    const Symbol* symbol = found->object->find_symbol(name);
    if (!symbol || symbol->kind != Symbol::Kind::object) {
      throw Failure(hipErrorNotFound, "the module has no variable '" + std::string(name) + "'");
    }
    if (pointer) *pointer = reinterpret_cast<void*>(symbol->address);
    if (bytes) *bytes = symbol->size;
  });
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute,
                               hipFunction_t function) {
  return call(__func__, [&] {
    require(value, "value is null");
    *value = function_attribute(*function_of(function), attribute);
  });
}

hipError_t hipFuncGetAttributes(struct hipFuncAttributes* attributes, const void* function) {
  return call(__func__, [&] {
    require(attributes, "attributes is null");
    const auto found = function_of(function);
    const auto number = [&](hipFunction_attribute name) {
      return function_attribute(*found, name);
    };
    *attributes = {};
    attributes->binaryVersion = number(HIP_FUNC_ATTRIBUTE_BINARY_VERSION);
    attributes->ptxVersion = number(HIP_FUNC_ATTRIBUTE_PTX_VERSION);
    attributes->localSizeBytes = found->kernel->descriptor.scratch_bytes;
    attributes->sharedSizeBytes = found->kernel->descriptor.lds_bytes;
    attributes->maxDynamicSharedSizeBytes =
        number(HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    attributes->maxThreadsPerBlock = number(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    attributes->numRegs = number(HIP_FUNC_ATTRIBUTE_NUM_REGS);
  });
}

hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value) {
  return call(__func__, [&] {
    const auto found = function_of(function);
    if (attribute == hipFuncAttributePreferredSharedMemoryCarveout) return;
    require(attribute == hipFuncAttributeMaxDynamicSharedMemorySize, "unknown attribute");
    const int most = function_attribute(*found, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    require(value >= 0 && value <= most, "more LDS than the device has");
  });
}

const char* hipKernelNameRef(hipFunction_t function) {
  const char* name = nullptr;
  call(__func__, [&] { name = Runtime::get().functions.find(function)->kernel->name.c_str(); });
  return name;
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
                                 unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                 unsigned int block_z, unsigned int dynamic_lds, hipStream_t stream,
                                 void** parameters, void** extra) {
  return call(__func__, [&] {
    launch(make_run(Runtime::get().functions.find(function), {grid_x, grid_y, grid_z},
                    {block_x, block_y, block_z}, dynamic_lds, parameters, extra),
           stream, nullptr, nullptr);
  });
}

hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t threads_x, uint32_t threads_y,
                                    uint32_t threads_z, uint32_t block_x, uint32_t block_y,
                                    uint32_t block_z, size_t dynamic_lds, hipStream_t stream,
                                    void** parameters, void** extra, hipEvent_t start,
                                    hipEvent_t stop, uint32_t) {
  return call(__func__, [&] {
    const Dim3 grid = {groups_of(threads_x, block_x), groups_of(threads_y, block_y),
                       groups_of(threads_z, block_z)};
    launch(make_run(Runtime::get().functions.find(function), grid, {block_x, block_y, block_z},
                    dynamic_lds, parameters, extra),
           stream, start, stop);
  });
}

// Workgroups run one after another on few cores: one that waits for all others never ends.
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned int grid_x,
                                            unsigned int grid_y, unsigned int grid_z,
                                            unsigned int block_x, unsigned int block_y,
                                            unsigned int block_z, unsigned int dynamic_lds,
                                            hipStream_t stream, void** parameters) {
  return call(__func__, [&] {
    require(u64{grid_x} * grid_y * grid_z == 1, "a cooperative grid of several workgroups",
            hipErrorNotSupported);
    launch(make_run(Runtime::get().functions.find(function), {grid_x, grid_y, grid_z},
                    {block_x, block_y, block_z}, dynamic_lds, parameters, nullptr),
           stream, nullptr, nullptr);
  });
}

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** parameters,
                           size_t dynamic_lds, hipStream_t stream) {
  return call(__func__, [&] {
    launch(make_run(function_of(function), {grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                    dynamic_lds, parameters, nullptr),
           stream, nullptr, nullptr);
  });
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function,
                                                              int block_threads,
                                                              size_t dynamic_lds) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads, dynamic_lds);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, hipFunction_t function, int block_threads, size_t dynamic_lds, unsigned int) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads, dynamic_lds);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                        int block_threads, size_t dynamic_lds) {
  return call(__func__, [&] {
    require(blocks && block_threads > 0, "blocks is null, or no threads");
    *blocks = active_blocks(*function_of(function), static_cast<u32>(block_threads), dynamic_lds);
  });
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t function,
                                                   size_t dynamic_lds, int limit) {
  return call(__func__, [&] {
    require(grid && block, "grid or block is null");
    const auto found = function_of(function);
    const u32 most = std::min(found->kernel->max_threads,
                              limit > 0 ? static_cast<u32>(limit) : found->kernel->max_threads);
    u32 best = 0;
    u32 best_threads = 0;
    for (u32 threads = most / wave_lanes * wave_lanes; threads >= wave_lanes;
         threads -= wave_lanes) {
      const u32 resident = threads * static_cast<u32>(active_blocks(*found, threads, dynamic_lds));
      if (resident > best_threads) {
        best_threads = resident;
        best = threads;
      }
    }
    require(best > 0, "no block of this kernel fits", hipErrorLaunchOutOfResources);
    *block = static_cast<int>(best);
    *grid = static_cast<int>(best_threads / best) *
            attribute(*found->device, hipDeviceAttributeMultiprocessorCount);
  });
}

}  // extern "C"
