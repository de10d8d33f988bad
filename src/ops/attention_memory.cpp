#include "ops/attention_memory.h"

#include <cstring>

#include "device/devices.h"

namespace wavefire::ops {
namespace {

constexpr const char* operation = "attention plan";
constexpr std::size_t alignment = 256;  // as drivers align what they allocate

std::size_t align(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// Grows by half at least, so that slowly growing batches seldom do.
template <class Memory, class Allocate>
void grow(Memory& memory, std::size_t bytes, Allocate&& allocate) {
  if (memory.bytes() >= bytes) return;
  const std::size_t more = memory.bytes() > 0 ? std::max(bytes, memory.bytes() * 3 / 2) : bytes;
  Memory larger = allocate(more);  // before the old is given up: this may throw
  memory = std::move(larger);
}

}  // namespace

void AttentionMemory::set_arrays(const Place& place, std::span<const PlanArray> arrays) {
  device::Gpu& gpu = *place.gpu;
  std::vector<std::size_t> offsets;
  std::size_t end = 0, used = 0;
  for (const PlanArray& array : arrays) {
    offsets.push_back(end);
    if (array.bytes > 0) used = end + array.bytes;
    end += align(array.capacity);
  }
  Staging& staging = staging_[next_];
  next_ = 1 - next_;
  if (staging.copied) staging.copied->synchronize();
  grow(staging.memory, end, [&](std::size_t bytes) { return gpu.allocate_host(bytes); });
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    char* to = staging.memory.as<char>() + offsets[i];
    if (arrays[i].bytes == 0) continue;
    if (arrays[i].data != nullptr) {
      std::memcpy(to, arrays[i].data, arrays[i].bytes);
    } else {
      std::memset(to, 0, arrays[i].bytes);
    }
  }
  grow(arrays_, end, [&](std::size_t bytes) { return gpu.allocate(bytes); });
  offsets_ = std::move(offsets);
  const device::Stream stream = place.stream();
  gpu.copy(arrays_.data(), staging.memory.data(), used, stream);
  if (!staging.copied) staging.copied.emplace(gpu);
  stream.record(*staging.copied);
}

void AttentionMemory::reserve_workspace(const Place& place, std::size_t bytes) {
  grow(workspace_, bytes, [&](std::size_t more) { return place.gpu->allocate(more); });
}

TensorView HostCopies::operator()(const char* argument, const TensorView& view) {
  if (!view.defined() || view.device.type == DeviceType::cpu) return view;
  if (view.device != device_) {
    const bool on_cpu = device_.type == DeviceType::cpu;
    core::fail_argument(operation, argument, core::join("on ", to_string(view.device)),
                        core::join("a tensor on cpu", on_cpu ? "" : " or " + to_string(device_)));
  }
  core::check(operation, argument, view).rank(1);
  core::require(view.strides[0] >= 1 || view.shape[0] <= 1, operation, argument, view,
                "a positive stride");
  const std::int64_t elements = view.shape[0] == 0 ? 0 : (view.shape[0] - 1) * view.strides[0] + 1;
  std::vector<char>& copy =
      copies_.emplace_back(static_cast<std::size_t>(elements * size_of(view.dtype)));
  const Place place{view.device, &device::gpu_of(view.device)};
  place.gpu->copy(copy.data(), view.data, copy.size(), place.stream());
  place.stream().synchronize();
  TensorView host = view;
  host.device = {};
  host.data = copy.data();
  return host;
}

}  // namespace wavefire::ops
