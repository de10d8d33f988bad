// AMD's HIP runtime, libamdhip64, and the virtual Instinct, which has the same functions.
#pragma once

#include "device/driver.h"

namespace wavefire::device::hip {

/// The functions that differ from NVIDIA's, and those that only the virtual Instinct has.
struct Functions {
  int (*get_device)(int* ordinal) = nullptr;
  int (*set_device)(int ordinal) = nullptr;
  int (*properties)(void* properties, int ordinal) = nullptr;
  int (*last_error)() = nullptr;
  int (*allocate)(void** pointer, std::size_t bytes) = nullptr;
  int (*free)(void* pointer) = nullptr;
  int (*copy)(void* to, const void* from, std::size_t bytes, int kind,
              StreamHandle stream) = nullptr;
  int (*fill)(void* to, unsigned char value, std::size_t bytes, StreamHandle stream) = nullptr;

  int (*virtual_set_devices)(const char* targets) = nullptr;
  int (*virtual_load)(ModuleHandle* module, const void* image, std::size_t bytes) = nullptr;
  const char* (*virtual_last_error)() = nullptr;
};

inline constexpr Symbol<DriverFunctions> common_symbols[] = {
    symbol<&DriverFunctions::init>("hipInit"),
    symbol<&DriverFunctions::version>("hipRuntimeGetVersion"),
    symbol<&DriverFunctions::error_name>("hipDrvGetErrorName"),
    symbol<&DriverFunctions::error_text>("hipDrvGetErrorString"),
    symbol<&DriverFunctions::device_count>("hipGetDeviceCount"),
    symbol<&DriverFunctions::device_name>("hipDeviceGetName"),
    symbol<&DriverFunctions::device_memory>("hipDeviceTotalMem"),
    symbol<&DriverFunctions::device_attribute>("hipDeviceGetAttribute"),
    symbol<&DriverFunctions::memory_info>("hipMemGetInfo"),
    symbol<&DriverFunctions::host_allocate>("hipHostMalloc"),
    symbol<&DriverFunctions::host_free>("hipHostFree"),
    symbol<&DriverFunctions::host_register>("hipHostRegister"),
    symbol<&DriverFunctions::host_unregister>("hipHostUnregister"),
    symbol<&DriverFunctions::stream_create>("hipStreamCreateWithPriority"),
    symbol<&DriverFunctions::stream_destroy>("hipStreamDestroy"),
    symbol<&DriverFunctions::stream_query>("hipStreamQuery"),
    symbol<&DriverFunctions::stream_synchronize>("hipStreamSynchronize"),
    symbol<&DriverFunctions::stream_wait_event>("hipStreamWaitEvent"),
    symbol<&DriverFunctions::stream_begin_capture>("hipStreamBeginCapture"),
    symbol<&DriverFunctions::stream_end_capture>("hipStreamEndCapture"),
    symbol<&DriverFunctions::stream_is_capturing>("hipStreamIsCapturing"),
    symbol<&DriverFunctions::event_create>("hipEventCreateWithFlags"),
    symbol<&DriverFunctions::event_destroy>("hipEventDestroy"),
    symbol<&DriverFunctions::event_record>("hipEventRecord"),
    symbol<&DriverFunctions::event_query>("hipEventQuery"),
    symbol<&DriverFunctions::event_synchronize>("hipEventSynchronize"),
    symbol<&DriverFunctions::event_elapsed>("hipEventElapsedTime"),
    symbol<&DriverFunctions::graph_instantiate>("hipGraphInstantiateWithFlags"),
    symbol<&DriverFunctions::graph_launch>("hipGraphLaunch"),
    symbol<&DriverFunctions::graph_destroy>("hipGraphDestroy"),
    symbol<&DriverFunctions::graph_exec_destroy>("hipGraphExecDestroy"),
    symbol<&DriverFunctions::module_load>("hipModuleLoadDataEx"),
    symbol<&DriverFunctions::module_unload>("hipModuleUnload"),
    symbol<&DriverFunctions::module_function>("hipModuleGetFunction"),
    symbol<&DriverFunctions::function_attribute>("hipFuncGetAttribute"),
    symbol<&DriverFunctions::launch>("hipModuleLaunchKernel"),
    symbol<&DriverFunctions::occupancy>("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"),
};

inline constexpr Symbol<Functions> own_symbols[] = {
    symbol<&Functions::get_device>("hipGetDevice"),
    symbol<&Functions::set_device>("hipSetDevice"),
    symbol<&Functions::properties>("hipGetDevicePropertiesR0600"),
    symbol<&Functions::last_error>("hipGetLastError"),
    symbol<&Functions::allocate>("hipMalloc"),
    symbol<&Functions::free>("hipFree"),
    symbol<&Functions::copy>("hipMemcpyAsync"),
    symbol<&Functions::fill>("hipMemsetD8Async"),
};

inline constexpr Symbol<Functions> virtual_symbols[] = {
    symbol<&Functions::virtual_set_devices>("wavefireVirtualSetDevices"),
    symbol<&Functions::virtual_load>("wavefireVirtualModuleLoad"),
    symbol<&Functions::virtual_last_error>("wavefireVirtualLastError"),
};

struct Attribute {
  static constexpr int clock_khz = 5;
  static constexpr int l2_bytes = 19;
  static constexpr int max_threads_per_block = 56;
  static constexpr int max_threads_per_multiprocessor = 57;
  static constexpr int memory_bus_bits = 59;
  static constexpr int memory_clock_khz = 60;
  static constexpr int multiprocessors = 63;
  static constexpr int registers_per_multiprocessor = 72;
  static constexpr int shared_bytes_per_block = 74;
  static constexpr int warp_size = 87;
  static constexpr int shared_bytes_per_multiprocessor = 10002;
};

/// hipDeviceProp_tR0600, of which we read the name of the architecture: no attribute tells it.
struct PropertiesLayout {
  static constexpr std::size_t size = 1472;
  static constexpr std::size_t architecture = 1160;
  static constexpr std::size_t architecture_bytes = 256;
};

inline constexpr int copy_kind_default = 4;  // by the addresses
inline constexpr std::uintptr_t extra_end = 3;

/// Opens libamdhip64 and initialises it. Throws `Error` (device) if there is none, or if it cannot.
std::unique_ptr<Driver> open_driver();
/// The same for libwavefire_virtual: Config::virtual_library, or the one beside this library.
std::unique_ptr<Driver> open_virtual_driver();

}  // namespace wavefire::device::hip
