// The device that tests run on: WAVEFIRE_TEST_DEVICE ("cuda:0", "virtual:gfx942"), else the CPU.
//
// The memory of a GPU's tensors is the host's, registered with the GPU, which works on it in place.
// So tests make tensors and look at them as on the CPU, and memory keeps its guard page.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "device/devices.h"

namespace wavefire::cases {

/// null: the CPU.
inline device::Gpu* test_gpu() {
  static device::Gpu* const gpu = [] {
    const char* name = std::getenv("WAVEFIRE_TEST_DEVICE");
    if (name == nullptr || std::string(name) == "cpu") return static_cast<device::Gpu*>(nullptr);
    use_device(name);
    return &device::open_gpu(name);
  }();
  return gpu;
}

/// Of the tests' tensors.
inline Device test_device() {
  const device::Gpu* gpu = test_gpu();
  if (gpu == nullptr || gpu->driver().kind() == "virtual") return {};
  return {gpu->driver().kind() == "cuda" ? DeviceType::cuda : DeviceType::hip, gpu->ordinal()};
}

/// Until results are there. Throws what went wrong in a kernel.
inline void wait_for_device() {
  if (device::Gpu* gpu = test_gpu()) device::Stream(*gpu, nullptr).synchronize();
}

/// The same where memory is given up: what goes wrong is printed.
inline void wait_for_device_at_end() noexcept {
  try {
    wait_for_device();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}

}  // namespace wavefire::cases
