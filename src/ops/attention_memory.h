// What attention keeps on a GPU between plans and runs.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "ops/launch.h"

namespace wavefire::ops {

/// An array of a plan: what it holds, and the bytes that are set aside for it.
struct PlanArray {
  const void* data = nullptr;  // null: zeros
  std::size_t bytes = 0;
  std::size_t capacity = 0;
};

/// A plan's arrays and the partial results of its runs, in the memory of one GPU. Arrays with the
/// same capacities as before keep their addresses, so that a captured graph finds a new plan's.
class AttentionMemory {
 public:
  /// Puts all arrays on the device with one copy from pinned memory, on the stream of `place`.
  /// Waits for nothing but, if it goes on still, the copy two plans ago.
  void set_arrays(const Place& place, std::span<const PlanArray> arrays);
  /// Makes room for partial results.
  void reserve_workspace(const Place& place, std::size_t bytes);

  template <class T>
  T* array(std::size_t index) const {
    return reinterpret_cast<T*>(arrays_.as<char>() + offsets_[index]);
  }
  char* workspace() const { return workspace_.as<char>(); }

 private:
  struct Staging {
    device::HostMemory memory;
    std::optional<device::Event> copied;
  };
  std::vector<std::size_t> offsets_;
  device::DeviceMemory arrays_, workspace_;
  std::array<Staging, 2> staging_;
  std::size_t next_ = 0;
};

/// Views on the host of index arrays there or on `device`. Those on a GPU are copied, which waits
/// for the current stream.
class HostCopies {
 public:
  explicit HostCopies(Device device) : device_(device) {}
  /// Throws `Error` (invalid_argument) for an array elsewhere.
  TensorView operator()(const char* argument, const TensorView& view);

 private:
  Device device_;
  std::vector<std::vector<char>> copies_;
};

}  // namespace wavefire::ops
