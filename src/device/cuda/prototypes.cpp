// Compiled where the build finds NVIDIA's cuda.h: the tables of driver.h agree with it.
#include "device/prototypes.h"

#include <cuda.h>

#include "device/cuda/driver.h"

#if CUDA_VERSION >= 12000  // older ones lack some of the functions
namespace wavefire::device::cuda {
namespace {

using D = DriverFunctions;

constexpr std::string_view common_prototypes[] = {
    prototype<&D::init, &cuInit>("cuInit"),
    prototype<&D::version, &cuDriverGetVersion>("cuDriverGetVersion"),
    prototype<&D::error_name, &cuGetErrorName>("cuGetErrorName"),
    prototype<&D::error_text, &cuGetErrorString>("cuGetErrorString"),
    prototype<&D::device_count, &cuDeviceGetCount>("cuDeviceGetCount"),
    prototype<&D::device_name, &cuDeviceGetName>("cuDeviceGetName"),
    prototype<&D::device_memory, &cuDeviceTotalMem_v2>("cuDeviceTotalMem_v2"),
    prototype<&D::device_attribute, &cuDeviceGetAttribute>("cuDeviceGetAttribute"),
    prototype<&D::memory_info, &cuMemGetInfo_v2>("cuMemGetInfo_v2"),
    prototype<&D::host_allocate, &cuMemHostAlloc>("cuMemHostAlloc"),
    prototype<&D::host_free, &cuMemFreeHost>("cuMemFreeHost"),
    prototype<&D::host_register, &cuMemHostRegister_v2>("cuMemHostRegister_v2"),
    prototype<&D::host_unregister, &cuMemHostUnregister>("cuMemHostUnregister"),
    prototype<&D::stream_create, &cuStreamCreateWithPriority>("cuStreamCreateWithPriority"),
    prototype<&D::stream_destroy, &cuStreamDestroy_v2>("cuStreamDestroy_v2"),
    prototype<&D::stream_query, &cuStreamQuery>("cuStreamQuery"),
    prototype<&D::stream_synchronize, &cuStreamSynchronize>("cuStreamSynchronize"),
    prototype<&D::stream_wait_event, &cuStreamWaitEvent>("cuStreamWaitEvent"),
    prototype<&D::stream_begin_capture, &cuStreamBeginCapture_v2>("cuStreamBeginCapture_v2"),
    prototype<&D::stream_end_capture, &cuStreamEndCapture>("cuStreamEndCapture"),
    prototype<&D::stream_is_capturing, &cuStreamIsCapturing>("cuStreamIsCapturing"),
    prototype<&D::event_create, &cuEventCreate>("cuEventCreate"),
    prototype<&D::event_destroy, &cuEventDestroy_v2>("cuEventDestroy_v2"),
    prototype<&D::event_record, &cuEventRecord>("cuEventRecord"),
    prototype<&D::event_query, &cuEventQuery>("cuEventQuery"),
    prototype<&D::event_synchronize, &cuEventSynchronize>("cuEventSynchronize"),
    // Newer headers name its successor, with the same parameters.
    prototype<&D::event_elapsed, &cuEventElapsedTime>("cuEventElapsedTime"),
    prototype<&D::graph_instantiate, &cuGraphInstantiateWithFlags>("cuGraphInstantiateWithFlags"),
    prototype<&D::graph_launch, &cuGraphLaunch>("cuGraphLaunch"),
    prototype<&D::graph_destroy, &cuGraphDestroy>("cuGraphDestroy"),
    prototype<&D::graph_exec_destroy, &cuGraphExecDestroy>("cuGraphExecDestroy"),
    prototype<&D::module_load, &cuModuleLoadDataEx>("cuModuleLoadDataEx"),
    prototype<&D::module_unload, &cuModuleUnload>("cuModuleUnload"),
    prototype<&D::module_function, &cuModuleGetFunction>("cuModuleGetFunction"),
    prototype<&D::function_attribute, &cuFuncGetAttribute>("cuFuncGetAttribute"),
    prototype<&D::launch, &cuLaunchKernel>("cuLaunchKernel"),
    prototype<&D::occupancy, &cuOccupancyMaxActiveBlocksPerMultiprocessor>(
        "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
};
static_assert(covers(common_prototypes, common_symbols));

constexpr std::string_view own_prototypes[] = {
    prototype<&Functions::retain_context, &cuDevicePrimaryCtxRetain>("cuDevicePrimaryCtxRetain"),
    prototype<&Functions::get_current, &cuCtxGetCurrent>("cuCtxGetCurrent"),
    prototype<&Functions::set_current, &cuCtxSetCurrent>("cuCtxSetCurrent"),
    prototype<&Functions::allocate, &cuMemAlloc_v2>("cuMemAlloc_v2"),
    prototype<&Functions::free, &cuMemFree_v2>("cuMemFree_v2"),
    prototype<&Functions::copy, &cuMemcpyAsync>("cuMemcpyAsync"),
    prototype<&Functions::fill, &cuMemsetD8Async>("cuMemsetD8Async"),
    prototype<&Functions::set_function_attribute, &cuFuncSetAttribute>("cuFuncSetAttribute"),
    prototype<&Functions::encode_tensor_map, &cuTensorMapEncodeTiled>("cuTensorMapEncodeTiled"),
};
static_assert(covers(own_prototypes, own_symbols));

static_assert(Attribute::max_threads_per_block == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(Attribute::warp_size == CU_DEVICE_ATTRIBUTE_WARP_SIZE);
static_assert(Attribute::clock_khz == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
static_assert(Attribute::multiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(Attribute::memory_clock_khz == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(Attribute::memory_bus_bits == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(Attribute::l2_bytes == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(Attribute::max_threads_per_multiprocessor ==
              CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
static_assert(Attribute::capability_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(Attribute::capability_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(Attribute::shared_bytes_per_multiprocessor ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
static_assert(Attribute::registers_per_multiprocessor ==
              CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
static_assert(Attribute::shared_bytes_per_block ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);

// The driver asks for 64 bytes; the headers of CUDA 12 align to that, those of CUDA 13 to 128.
static_assert(sizeof(tile::TensorMap) == sizeof(CUtensorMap) && alignof(tile::TensorMap) >= 64 &&
              alignof(tile::TensorMap) <= alignof(CUtensorMap));
static_assert(TensorMapOption::dtype_bf16 == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
static_assert(TensorMapOption::no_interleave == CU_TENSOR_MAP_INTERLEAVE_NONE);
static_assert(TensorMapOption::swizzle_128 == CU_TENSOR_MAP_SWIZZLE_128B);
static_assert(TensorMapOption::l2_promotion_256 == CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
static_assert(TensorMapOption::fill_zeros == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);

static_assert(JitOption::error_log_buffer == CU_JIT_ERROR_LOG_BUFFER);
static_assert(JitOption::error_log_bytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

static_assert(FunctionAttribute::max_threads_per_block == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(FunctionAttribute::shared_bytes == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
static_assert(FunctionAttribute::local_bytes == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
static_assert(FunctionAttribute::registers == CU_FUNC_ATTRIBUTE_NUM_REGS);
static_assert(FunctionAttribute::max_dynamic_shared_bytes ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

static_assert(Status::success == CUDA_SUCCESS);
static_assert(Status::out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(Status::no_device == CUDA_ERROR_NO_DEVICE);
static_assert(Status::no_binary_for_gpu == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(Status::not_ready == CUDA_ERROR_NOT_READY);
static_assert(unsupported_ptx_version == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);

static_assert(StreamFlag::non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(EventFlag::no_timing == CU_EVENT_DISABLE_TIMING);
static_assert(capture_mode_thread_local == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(LaunchExtra::buffer_pointer == CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
static_assert(LaunchExtra::buffer_size == CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);
static_assert(extra_end == CU_LAUNCH_PARAM_END_AS_INT);

}  // namespace
}  // namespace wavefire::device::cuda

#endif
