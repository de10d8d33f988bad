// NVIDIA's driver, libcuda.
#pragma once

#include "device/driver.h"

namespace wavefire::device::cuda {

/// The functions that differ from HIP's. Addresses on the device are integers to NVIDIA.
struct Functions {
  int (*retain_context)(Context* context, int ordinal) = nullptr;
  int (*get_current)(Context* context) = nullptr;
  int (*set_current)(Context context) = nullptr;
  int (*allocate)(std::uint64_t* address, std::size_t bytes) = nullptr;
  int (*free)(std::uint64_t address) = nullptr;
  int (*copy)(std::uint64_t to, std::uint64_t from, std::size_t bytes,
              StreamHandle stream) = nullptr;
  int (*fill)(std::uint64_t to, unsigned char value, std::size_t bytes,
              StreamHandle stream) = nullptr;
  int (*set_function_attribute)(FunctionHandle function, int attribute, int value) = nullptr;
  int (*encode_tensor_map)(tile::TensorMap* map, int dtype, unsigned rank, void* data,
                           const std::uint64_t* dims, const std::uint64_t* strides,
                           const std::uint32_t* box, const std::uint32_t* element_strides,
                           int interleave, int swizzle, int l2_promotion, int fill) = nullptr;
};

inline constexpr Symbol<DriverFunctions> common_symbols[] = {
    symbol<&DriverFunctions::init>("cuInit"),
    symbol<&DriverFunctions::version>("cuDriverGetVersion"),
    symbol<&DriverFunctions::error_name>("cuGetErrorName"),
    symbol<&DriverFunctions::error_text>("cuGetErrorString"),
    symbol<&DriverFunctions::device_count>("cuDeviceGetCount"),
    symbol<&DriverFunctions::device_name>("cuDeviceGetName"),
    symbol<&DriverFunctions::device_memory>("cuDeviceTotalMem_v2"),
    symbol<&DriverFunctions::device_attribute>("cuDeviceGetAttribute"),
    symbol<&DriverFunctions::memory_info>("cuMemGetInfo_v2"),
    symbol<&DriverFunctions::host_allocate>("cuMemHostAlloc"),
    symbol<&DriverFunctions::host_free>("cuMemFreeHost"),
    symbol<&DriverFunctions::host_register>("cuMemHostRegister_v2"),
    symbol<&DriverFunctions::host_unregister>("cuMemHostUnregister"),
    symbol<&DriverFunctions::stream_create>("cuStreamCreateWithPriority"),
    symbol<&DriverFunctions::stream_destroy>("cuStreamDestroy_v2"),
    symbol<&DriverFunctions::stream_query>("cuStreamQuery"),
    symbol<&DriverFunctions::stream_synchronize>("cuStreamSynchronize"),
    symbol<&DriverFunctions::stream_wait_event>("cuStreamWaitEvent"),
    symbol<&DriverFunctions::stream_begin_capture>("cuStreamBeginCapture_v2"),
    symbol<&DriverFunctions::stream_end_capture>("cuStreamEndCapture"),
    symbol<&DriverFunctions::stream_is_capturing>("cuStreamIsCapturing"),
    symbol<&DriverFunctions::event_create>("cuEventCreate"),
    symbol<&DriverFunctions::event_destroy>("cuEventDestroy_v2"),
    symbol<&DriverFunctions::event_record>("cuEventRecord"),
    symbol<&DriverFunctions::event_query>("cuEventQuery"),
    symbol<&DriverFunctions::event_synchronize>("cuEventSynchronize"),
    symbol<&DriverFunctions::event_elapsed>("cuEventElapsedTime"),
    symbol<&DriverFunctions::graph_instantiate>("cuGraphInstantiateWithFlags"),
    symbol<&DriverFunctions::graph_launch>("cuGraphLaunch"),
    symbol<&DriverFunctions::graph_destroy>("cuGraphDestroy"),
    symbol<&DriverFunctions::graph_exec_destroy>("cuGraphExecDestroy"),
    symbol<&DriverFunctions::module_load>("cuModuleLoadDataEx"),
    symbol<&DriverFunctions::module_unload>("cuModuleUnload"),
    symbol<&DriverFunctions::module_function>("cuModuleGetFunction"),
    symbol<&DriverFunctions::function_attribute>("cuFuncGetAttribute"),
    symbol<&DriverFunctions::launch>("cuLaunchKernel"),
    symbol<&DriverFunctions::occupancy>("cuOccupancyMaxActiveBlocksPerMultiprocessor"),
};

inline constexpr Symbol<Functions> own_symbols[] = {
    symbol<&Functions::retain_context>("cuDevicePrimaryCtxRetain"),
    symbol<&Functions::get_current>("cuCtxGetCurrent"),
    symbol<&Functions::set_current>("cuCtxSetCurrent"),
    symbol<&Functions::allocate>("cuMemAlloc_v2"),
    symbol<&Functions::free>("cuMemFree_v2"),
    symbol<&Functions::copy>("cuMemcpyAsync"),
    symbol<&Functions::fill>("cuMemsetD8Async"),
    symbol<&Functions::set_function_attribute>("cuFuncSetAttribute"),
    symbol<&Functions::encode_tensor_map>("cuTensorMapEncodeTiled"),
};

struct Attribute {
  static constexpr int max_threads_per_block = 1;
  static constexpr int warp_size = 10;
  static constexpr int clock_khz = 13;
  static constexpr int multiprocessors = 16;
  static constexpr int memory_clock_khz = 36;
  static constexpr int memory_bus_bits = 37;
  static constexpr int l2_bytes = 38;
  static constexpr int max_threads_per_multiprocessor = 39;
  static constexpr int capability_major = 75;
  static constexpr int capability_minor = 76;
  static constexpr int shared_bytes_per_multiprocessor = 81;
  static constexpr int registers_per_multiprocessor = 82;
  static constexpr int shared_bytes_per_block = 97;  // for kernels that opt in to more than 48 KiB
};

inline constexpr std::uintptr_t extra_end = 0;

/// Of cuModuleLoadDataEx: PTX of a later release than the driver's.
inline constexpr int unsupported_ptx_version = 222;
/// Where the assembler's complaints about PTX go.
struct JitOption {
  static constexpr int error_log_buffer = 5;
  static constexpr int error_log_bytes = 6;
};

/// Of cuTensorMapEncodeTiled. Elements of two bytes are copied alike, whatever they mean.
struct TensorMapOption {
  static constexpr int dtype_bf16 = 9;
  static constexpr int no_interleave = 0;
  static constexpr int swizzle_128 = 3;
  static constexpr int l2_promotion_256 = 3;
  static constexpr int fill_zeros = 0;
};

/// Opens libcuda and initialises it. Throws `Error` (device) if there is none, or if it cannot.
std::unique_ptr<Driver> open_driver();

}  // namespace wavefire::device::cuda
