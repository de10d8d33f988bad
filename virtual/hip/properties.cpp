#include "virtual/hip/properties.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>

#include "virtual/execute.h"

namespace instinct::hip {
namespace {

// From AMD's data sheets of MI300X and MI355X and what rocminfo prints there.
struct Model {
  const char* name;
  const char* arch;
  int minor;  // of the compute capability 9.x
  int compute_units;
  int clock_khz;
  int memory_clock_khz;
  int l2_bytes;  // of one XCD
};

const Model& model_of(Target target) {
  static constexpr Model gfx942 = {"AMD Instinct MI300X (virtual)",
                                   "gfx942:sramecc+:xnack-",
                                   4,
                                   304,
                                   2'100'000,
                                   1'300'000,
                                   4 << 20};
  static constexpr Model gfx950 = {"AMD Instinct MI355X (virtual)",
                                   "gfx950:sramecc+:xnack-",
                                   5,
                                   256,
                                   2'400'000,
                                   2'000'000,
                                   4 << 20};
  return target == Target::gfx942 ? gfx942 : gfx950;
}

constexpr int memory_bus_bits = 8192;
constexpr int wall_clock_khz = 100'000;
constexpr int block_limit = 1024;
constexpr int max_grid_yz = 65536;
constexpr u32 simds = 4;
constexpr u32 max_waves_per_simd = 8;
constexpr u32 registers_per_lane = 512;  // VGPRs and AGPRs of a SIMD
constexpr int registers_per_block = 65536;
constexpr u32 max_blocks = 32;  // of a compute unit, more than one wave each

int saturated(u64 value) { return static_cast<int>(std::min<u64>(value, INT_MAX)); }

// What a device can do (1) and cannot (0).
std::optional<int> flag(hipDeviceAttribute_t attribute) {
  switch (attribute) {
    case hipDeviceAttributeCanMapHostMemory:
    case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeConcurrentManagedAccess:
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeStreamPrioritiesSupported:
    case hipDeviceAttributeUnifiedAddressing:
    case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributeHostRegisterSupported:
    case hipDeviceAttributeIsLargeBar:
    case hipDeviceAttributeFineGrainSupport: return 1;
    case hipDeviceAttributeComputeMode:
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributeIntegrated:
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributePageableMemoryAccessUsesHostPageTables:
    case hipDeviceAttributePciDeviceId:
    case hipDeviceAttributePciDomainID:
    case hipDeviceAttributeReservedSharedMemPerBlock:
    case hipDeviceAttributeVirtualMemoryManagementSupported:
    case hipDeviceAttributeCanUseStreamWaitValue:
    case hipDeviceAttributeImageSupport: return 0;
    default: return std::nullopt;
  }
}

}  // namespace

int attribute(Device& device, hipDeviceAttribute_t attribute) {
  const Model& model = model_of(device.target());
  const int lds = static_cast<int>(lds_limit(device.target()));
  switch (attribute) {
    case hipDeviceAttributeEccEnabled: return 1;
    case hipDeviceAttributeAsyncEngineCount: return 8;
    case hipDeviceAttributeClockRate: return model.clock_khz;
    case hipDeviceAttributeL2CacheSize: return model.l2_bytes;
    case hipDeviceAttributeComputeCapabilityMajor: return 9;
    case hipDeviceAttributeComputeCapabilityMinor: return model.minor;
    case hipDeviceAttributeMaxBlocksPerMultiProcessor: return max_blocks;
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
    case hipDeviceAttributeMaxThreadsPerBlock: return block_limit;
    case hipDeviceAttributeMaxGridDimX: return INT_MAX;
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ: return max_grid_yz;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      return static_cast<int>(simds * max_waves_per_simd * wave_lanes);
    case hipDeviceAttributeMaxPitch: return INT_MAX;
    case hipDeviceAttributeMemoryBusWidth: return memory_bus_bits;
    case hipDeviceAttributeMemoryClockRate: return model.memory_clock_khz;
    case hipDeviceAttributeMultiprocessorCount:
    case hipDeviceAttributePhysicalMultiProcessorCount: return model.compute_units;
    case hipDeviceAttributePciBusId: return device.ordinal() + 1;
    case hipDeviceAttributeMaxRegistersPerBlock: return registers_per_block;
    case hipDeviceAttributeMaxRegistersPerMultiprocessor:
      return static_cast<int>(simds * registers_per_lane * wave_lanes);
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeSharedMemPerMultiprocessor:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: return lds;
    case hipDeviceAttributeTotalConstantMemory:
    case hipDeviceAttributeTotalGlobalMem: return saturated(device.memory().capacity());
    case hipDeviceAttributeWarpSize: return wave_lanes;
    case hipDeviceAttributeClockInstructionRate:
    case hipDeviceAttributeWallClockRate: return wall_clock_khz;
    case hipDeviceAttributeAsicRevision: return 1;
    default: break;
  }
  if (const std::optional<int> yes_or_no = flag(attribute)) return *yes_or_no;
  throw Failure(hipErrorInvalidValue, "device attribute " + std::to_string(attribute) +
                                          " is not known to the virtual Instinct");
}

void fill_properties(Device& device, hipDeviceProp_tR0600& properties) {
  const Model& model = model_of(device.target());
  const auto number = [&](hipDeviceAttribute_t name) { return attribute(device, name); };
  properties = {};
  std::snprintf(properties.name, sizeof(properties.name), "%s", model.name);
  std::snprintf(properties.gcnArchName, sizeof(properties.gcnArchName), "%s", model.arch);
  std::memcpy(properties.uuid.bytes, "virtual-device-", 15);
  properties.uuid.bytes[15] = static_cast<char>('0' + device.ordinal());
  const std::size_t lds = lds_limit(device.target());
  properties.totalGlobalMem = device.memory().capacity();
  properties.sharedMemPerBlock = lds;
  properties.regsPerBlock = registers_per_block;
  properties.warpSize = wave_lanes;
  properties.memPitch = INT_MAX;
  properties.maxThreadsPerBlock = block_limit;
  std::fill_n(properties.maxThreadsDim, 3, block_limit);
  properties.maxGridSize[0] = number(hipDeviceAttributeMaxGridDimX);
  properties.maxGridSize[1] = properties.maxGridSize[2] = max_grid_yz;
  properties.clockRate = model.clock_khz;
  properties.totalConstMem = INT_MAX;
  properties.major = 9;
  properties.minor = model.minor;
  properties.multiProcessorCount = model.compute_units;
  properties.canMapHostMemory = properties.concurrentKernels = properties.ECCEnabled = 1;
  properties.pciBusID = number(hipDeviceAttributePciBusId);
  properties.asyncEngineCount = number(hipDeviceAttributeAsyncEngineCount);
  properties.unifiedAddressing = 1;
  properties.memoryClockRate = model.memory_clock_khz;
  properties.memoryBusWidth = memory_bus_bits;
  properties.l2CacheSize = model.l2_bytes;
  properties.maxThreadsPerMultiProcessor = number(hipDeviceAttributeMaxThreadsPerMultiProcessor);
  properties.streamPrioritiesSupported = 1;
  properties.sharedMemPerMultiprocessor = properties.sharedMemPerBlockOptin = lds;
  properties.maxSharedMemoryPerMultiProcessor = lds;
  properties.regsPerMultiprocessor = number(hipDeviceAttributeMaxRegistersPerMultiprocessor);
  properties.managedMemory = properties.concurrentManagedAccess = 1;
  properties.canUseHostPointerForRegisteredMem = 1;
  properties.maxBlocksPerMultiProcessor = max_blocks;
  properties.hostRegisterSupported = properties.memoryPoolsSupported = 1;
  properties.clockInstructionRate = wall_clock_khz;
  properties.isLargeBar = 1;
  properties.asicRevision = 1;
  properties.arch.hasGlobalInt32Atomics = properties.arch.hasSharedInt32Atomics = 1;
  properties.arch.hasGlobalFloatAtomicExch = properties.arch.hasSharedFloatAtomicExch = 1;
  properties.arch.hasFloatAtomicAdd = properties.arch.hasDoubles = 1;
  properties.arch.hasGlobalInt64Atomics = properties.arch.hasSharedInt64Atomics = 1;
  properties.arch.hasWarpVote = properties.arch.hasWarpBallot = 1;
  properties.arch.hasWarpShuffle = properties.arch.hasThreadFenceSystem = 1;
  properties.arch.has3dGrid = 1;
}

int active_blocks(const Function& function, u32 block_threads, u64 dynamic_lds) {
  const KernelDescriptor& descriptor = function.kernel->descriptor;
  require(block_threads > 0 && block_threads <= block_limit, "a block has 1 to 1024 work items");
  const u32 waves = (block_threads + wave_lanes - 1) / wave_lanes;
  const u32 waves_per_simd = std::min(max_waves_per_simd, registers_per_lane / descriptor.vgprs());
  u64 blocks = u64{waves_per_simd} * simds / waves;
  const u64 lds = descriptor.lds_bytes + dynamic_lds;
  if (lds) blocks = std::min<u64>(blocks, lds_limit(function.object->target()) / lds);
  if (waves > 1) blocks = std::min<u64>(blocks, max_blocks);
  return static_cast<int>(blocks);
}

}  // namespace instinct::hip
