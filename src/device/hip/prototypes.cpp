// Compiled once for each header of HIP that the build finds (AMD's, the virtual Instinct's): the
// tables of driver.h agree with it.
#include "device/prototypes.h"

#define __HIP_PLATFORM_AMD__  // NOLINT(bugprone-reserved-identifier): AMD's headers ask for it
#if __has_include(<virtual/hip/hip_api.h>)
#define VIRTUAL_HEADERS
#include <virtual/hip/hip_api.h>
#include <virtual/hip/virtual_instinct.h>
#else
#include <hip/hip_runtime_api.h>
#endif

#include "device/hip/driver.h"

#if !defined(HIP_VERSION_MAJOR) || HIP_VERSION_MAJOR >= 6  // older ones lack some of the functions
namespace wavefire::device::hip {
namespace {

using D = DriverFunctions;

constexpr std::string_view common_prototypes[] = {
    prototype<&D::init, &hipInit>("hipInit"),
    prototype<&D::version, &hipRuntimeGetVersion>("hipRuntimeGetVersion"),
    prototype<&D::error_name, &hipDrvGetErrorName>("hipDrvGetErrorName"),
    prototype<&D::error_text, &hipDrvGetErrorString>("hipDrvGetErrorString"),
    prototype<&D::device_count, &hipGetDeviceCount>("hipGetDeviceCount"),
    prototype<&D::device_name, &hipDeviceGetName>("hipDeviceGetName"),
    prototype<&D::device_memory, &hipDeviceTotalMem>("hipDeviceTotalMem"),
    prototype<&D::device_attribute, &hipDeviceGetAttribute>("hipDeviceGetAttribute"),
    prototype<&D::memory_info, &hipMemGetInfo>("hipMemGetInfo"),
    prototype<&D::host_allocate, static_cast<hipError_t (*)(void**, size_t, unsigned)>(
                                     &hipHostMalloc)>("hipHostMalloc"),
    prototype<&D::host_free, &hipHostFree>("hipHostFree"),
    prototype<&D::host_register, &hipHostRegister>("hipHostRegister"),
    prototype<&D::host_unregister, &hipHostUnregister>("hipHostUnregister"),
    prototype<&D::stream_create, &hipStreamCreateWithPriority>("hipStreamCreateWithPriority"),
    prototype<&D::stream_destroy, &hipStreamDestroy>("hipStreamDestroy"),
    prototype<&D::stream_query, &hipStreamQuery>("hipStreamQuery"),
    prototype<&D::stream_synchronize, &hipStreamSynchronize>("hipStreamSynchronize"),
    prototype<&D::stream_wait_event, &hipStreamWaitEvent>("hipStreamWaitEvent"),
    prototype<&D::stream_begin_capture, &hipStreamBeginCapture>("hipStreamBeginCapture"),
    prototype<&D::stream_end_capture, &hipStreamEndCapture>("hipStreamEndCapture"),
    prototype<&D::stream_is_capturing, &hipStreamIsCapturing>("hipStreamIsCapturing"),
    prototype<&D::event_create, &hipEventCreateWithFlags>("hipEventCreateWithFlags"),
    prototype<&D::event_destroy, &hipEventDestroy>("hipEventDestroy"),
    prototype<&D::event_record, &hipEventRecord>("hipEventRecord"),
    prototype<&D::event_query, &hipEventQuery>("hipEventQuery"),
    prototype<&D::event_synchronize, &hipEventSynchronize>("hipEventSynchronize"),
    prototype<&D::event_elapsed, &hipEventElapsedTime>("hipEventElapsedTime"),
    prototype<&D::graph_instantiate, &hipGraphInstantiateWithFlags>("hipGraphInstantiateWithFlags"),
    prototype<&D::graph_launch, &hipGraphLaunch>("hipGraphLaunch"),
    prototype<&D::graph_destroy, &hipGraphDestroy>("hipGraphDestroy"),
    prototype<&D::graph_exec_destroy, &hipGraphExecDestroy>("hipGraphExecDestroy"),
    prototype<&D::module_load, &hipModuleLoadDataEx>("hipModuleLoadDataEx"),
    prototype<&D::module_unload, &hipModuleUnload>("hipModuleUnload"),
    prototype<&D::module_function, &hipModuleGetFunction>("hipModuleGetFunction"),
    prototype<&D::function_attribute, &hipFuncGetAttribute>("hipFuncGetAttribute"),
    prototype<&D::launch, &hipModuleLaunchKernel>("hipModuleLaunchKernel"),
    prototype<&D::occupancy, &hipModuleOccupancyMaxActiveBlocksPerMultiprocessor>(
        "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"),
};
static_assert(covers(common_prototypes, common_symbols));

constexpr std::string_view own_prototypes[] = {
    prototype<&Functions::get_device, &hipGetDevice>("hipGetDevice"),
    prototype<&Functions::set_device, &hipSetDevice>("hipSetDevice"),
    prototype<&Functions::properties, &hipGetDevicePropertiesR0600>("hipGetDevicePropertiesR0600"),
    prototype<&Functions::last_error, &hipGetLastError>("hipGetLastError"),
    prototype<&Functions::allocate, static_cast<hipError_t (*)(void**, size_t)>(&hipMalloc)>(
        "hipMalloc"),
    prototype<&Functions::free, &hipFree>("hipFree"),
    prototype<&Functions::copy, &hipMemcpyAsync>("hipMemcpyAsync"),
    prototype<&Functions::fill, &hipMemsetD8Async>("hipMemsetD8Async"),
};
static_assert(covers(own_prototypes, own_symbols));

#ifdef VIRTUAL_HEADERS
constexpr std::string_view virtual_prototypes[] = {
    prototype<&Functions::virtual_set_devices, &wavefireVirtualSetDevices>(
        "wavefireVirtualSetDevices"),
    prototype<&Functions::virtual_load, &wavefireVirtualModuleLoad>("wavefireVirtualModuleLoad"),
    prototype<&Functions::virtual_last_error, &wavefireVirtualLastError>(
        "wavefireVirtualLastError"),
};
static_assert(covers(virtual_prototypes, virtual_symbols));
#endif

static_assert(Attribute::clock_khz == hipDeviceAttributeClockRate);
static_assert(Attribute::l2_bytes == hipDeviceAttributeL2CacheSize);
static_assert(Attribute::max_threads_per_block == hipDeviceAttributeMaxThreadsPerBlock);
static_assert(Attribute::max_threads_per_multiprocessor ==
              hipDeviceAttributeMaxThreadsPerMultiProcessor);
static_assert(Attribute::memory_bus_bits == hipDeviceAttributeMemoryBusWidth);
static_assert(Attribute::memory_clock_khz == hipDeviceAttributeMemoryClockRate);
static_assert(Attribute::multiprocessors == hipDeviceAttributeMultiprocessorCount);
static_assert(Attribute::registers_per_multiprocessor ==
              hipDeviceAttributeMaxRegistersPerMultiprocessor);
static_assert(Attribute::shared_bytes_per_block == hipDeviceAttributeMaxSharedMemoryPerBlock);
static_assert(Attribute::warp_size == hipDeviceAttributeWarpSize);
static_assert(Attribute::shared_bytes_per_multiprocessor ==
              hipDeviceAttributeMaxSharedMemoryPerMultiprocessor);

using Layout = hipDeviceProp_tR0600;
static_assert(PropertiesLayout::size == sizeof(Layout));
static_assert(PropertiesLayout::architecture == offsetof(Layout, gcnArchName));
static_assert(PropertiesLayout::architecture_bytes == sizeof(Layout::gcnArchName));

static_assert(FunctionAttribute::max_threads_per_block == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(FunctionAttribute::shared_bytes == HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
static_assert(FunctionAttribute::local_bytes == HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
static_assert(FunctionAttribute::registers == HIP_FUNC_ATTRIBUTE_NUM_REGS);

static_assert(Status::success == hipSuccess);
static_assert(Status::out_of_memory == hipErrorOutOfMemory);
static_assert(Status::no_device == hipErrorNoDevice);
static_assert(Status::no_binary_for_gpu == hipErrorNoBinaryForGpu);
static_assert(Status::not_ready == hipErrorNotReady);

static_assert(StreamFlag::non_blocking == hipStreamNonBlocking);
static_assert(EventFlag::no_timing == hipEventDisableTiming);
static_assert(capture_mode_thread_local == hipStreamCaptureModeThreadLocal);
static_assert(copy_kind_default == hipMemcpyDefault);

}  // namespace
}  // namespace wavefire::device::hip

#endif
