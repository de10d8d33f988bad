// A view of somebody else's memory: pointer, dtype, device, shape, strides. It owns nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "wavefire/dtype.h"

namespace wavefire {

enum class DeviceType : unsigned char { cpu, cuda, hip };

struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

std::string to_string(Device device);

inline constexpr int max_rank = 6;

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  Device device;
  int rank = 0;
  std::int64_t shape[max_rank] = {};    // elements along each dimension
  std::int64_t strides[max_rank] = {};  // in elements; any value, also 0 and negative

  /// A row-major contiguous view. Throws `Error` when the rank is larger than `max_rank` or an
  /// extent is negative.
  static TensorView contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape,
                               Device device = {});

  bool defined() const { return rank > 0 || data != nullptr; }
  std::int64_t size() const;   // number of elements
  bool is_contiguous() const;  // row-major without gaps (dimensions of extent 1 do not count)
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// "float16[4, 8, 128] (strides 1024, 128, 1) on cpu:0"
std::string to_string(const TensorView& view);

}  // namespace wavefire
