#include "ops/launch.h"

#include <limits>

#include "core/host_device.h"
#include "device/devices.h"

namespace wavefire::ops {

Place place_of(std::string_view operation, std::initializer_list<core::Argument> tensors) {
  const Device device = core::common_device(operation, tensors);
  if (device.type != DeviceType::cpu) return {device, &device::gpu_of(device)};
  if (core::host_device() == "cpu") return {device, nullptr};
  return {device, &device::open_gpu(core::host_device())};
}

unsigned blocks_for(std::int64_t rows, int rows_a_block) {
  const std::int64_t blocks = (rows + rows_a_block - 1) / rows_a_block;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  core::require(blocks <= most, "launch", "rows", rows, core::join("up to ", most, " blocks"));
  return static_cast<unsigned>(blocks);
}

}  // namespace wavefire::ops
