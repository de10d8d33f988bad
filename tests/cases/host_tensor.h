// Tensors of tests. Their memory ends where a page begins that must not be touched, so that reading
// behind the last element is a fault; it is committed lazily, so that huge tensors cost only what
// is written.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "cases/test_device.h"
#include "reference/dtypes.h"
#include "wavefire/tensor_view.h"

namespace wavefire::cases {

class GuardedMemory {
 public:
  GuardedMemory() = default;
  explicit GuardedMemory(std::int64_t bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t used = (static_cast<std::size_t>(bytes) + page - 1) / page * page;
    size_ = used + page;
    void* base = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<unsigned char*>(base);
    mprotect(base_ + used, page, PROT_NONE);
    data_ = base_ + used - bytes;
    device::Gpu* gpu = test_gpu();
    if (gpu != nullptr && used > 0) registration_ = gpu->register_host(base_, used);
  }
  GuardedMemory(GuardedMemory&& other) noexcept { swap(other); }
  GuardedMemory& operator=(GuardedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GuardedMemory() {
    if (base_ == nullptr) return;
    wait_for_device_at_end();
    registration_ = {};
    munmap(base_, size_);
  }

  unsigned char* data() const { return data_; }

 private:
  void swap(GuardedMemory& other) {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    std::swap(registration_, other.registration_);
  }
  unsigned char* base_ = nullptr;
  std::size_t size_ = 0;
  unsigned char* data_ = nullptr;
  device::HostRegistration registration_;
};

class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(DType dtype, std::vector<std::int64_t> shape)
      : HostTensor(dtype, shape, row_major(shape)) {}
  /// Any strides that are 0 or more.
  HostTensor(DType dtype, const std::vector<std::int64_t>& shape,
             const std::vector<std::int64_t>& strides) {
    view_.dtype = dtype;
    view_.device = test_device();
    view_.rank = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), view_.shape);
    std::copy(strides.begin(), strides.end(), view_.strides);
    elements_ = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) elements_ += (shape[d] - 1) * strides[d];
    for (std::int64_t extent : shape) elements_ = extent == 0 ? 0 : elements_;
    memory_ = GuardedMemory(elements_ * size_of(dtype));
    view_.data = memory_.data();
  }
  static HostTensor of(const std::vector<std::int32_t>& values) {
    HostTensor tensor(DType::i32, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.view_.as<std::int32_t>());
    return tensor;
  }
  static HostTensor of(const std::vector<float>& values) {
    HostTensor tensor(DType::f32, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.view_.as<float>());
    return tensor;
  }
  static HostTensor of_bytes(DType dtype, const std::vector<std::uint8_t>& values) {
    HostTensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.view_.as<std::uint8_t>());
    return tensor;
  }

  /// What the device was told to write is there.
  const TensorView& view() const {
    wait_for_device();
    return view_;
  }
  /// All of the memory, gaps between elements included.
  std::span<unsigned char> bytes() const {
    wait_for_device();
    return {memory_.data(), static_cast<std::size_t>(elements_ * size_of(view_.dtype))};
  }
  void fill_bits(std::uint32_t bits) {
    for (std::int64_t i = 0; i < elements_; ++i) {
      reference::encode_bits(view_.dtype, bits, memory_.data(), i);
    }
  }
  void fill(double value) { fill_bits(reference::bits_of_value(view_.dtype, value)); }

 private:
  static std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) strides[d] = stride;
    return strides;
  }
  GuardedMemory memory_;
  TensorView view_;
  std::int64_t elements_ = 0;
};

inline std::int64_t offset_of(const TensorView& view, std::initializer_list<std::int64_t> index) {
  std::int64_t offset = 0;
  int d = 0;
  for (std::int64_t i : index) offset += i * view.strides[d++];
  return offset;
}
inline double get(const TensorView& view, std::initializer_list<std::int64_t> index) {
  return reference::decode(view.dtype, view.data, offset_of(view, index));
}
inline void set(const TensorView& view, std::initializer_list<std::int64_t> index, double value) {
  reference::encode(view.dtype, value, view.data, offset_of(view, index));
}
inline void set_bits(const TensorView& view, std::initializer_list<std::int64_t> index,
                     std::uint32_t bits) {
  reference::encode_bits(view.dtype, bits, view.data, offset_of(view, index));
}

}  // namespace wavefire::cases
