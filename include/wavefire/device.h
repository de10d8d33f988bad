// Which devices there are, and which one takes the work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wavefire/tensor_view.h"

namespace wavefire {

struct DeviceInfo {
  std::string id;            // what `use_device` takes: "cpu", "cuda:0", "hip:0", "virtual:gfx942"
  std::string name;          // "NVIDIA H200"
  std::string architecture;  // "avx512", "sm_90", "gfx942"
  int multiprocessors = 0;   // SMs, compute units; hardware threads of a CPU
  std::int64_t memory_bytes = 0;
  Device tensors;  // where its tensors live; those of a virtual device are on the CPU
};

/// The devices of this process: the CPU, then those of the drivers that are installed. Opens the
/// drivers, but no device.
std::vector<DeviceInfo> devices();

/// Why a kind of device ("cuda", "hip", "virtual") has no driver here, in one line; empty if it
/// has.
std::string why_no_driver(std::string_view kind);

/// Chooses the device that tensors of the host go to, for the whole process: "cpu" (from the
/// start), "virtual:gfx942" or "virtual:gfx950". Tensors on a GPU are always worked on there;
/// "cuda:0" and "hip:0" ("cuda" means the first) are opened, and tensors of the host stay with the
/// CPU. Not to be called while operations run. Throws `Error`: invalid_argument for an unknown name
/// or a number out of range, device if there is no driver.
DeviceInfo use_device(std::string_view name);

/// What `use_device` chose last.
DeviceInfo current_device();

/// Until the end of the scope, this thread's operations on tensors of `device` are put on `stream`
/// (a cudaStream_t or hipStream_t of that device; null: its default stream). Scopes nest; without
/// one it is the default stream. The stream must outlive the scope; nothing waits for its work.
class StreamScope {
 public:
  StreamScope(Device device, void* stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  friend void* current_stream(Device device);
  Device device_;
  void* stream_;
  const StreamScope* outer_;
};

/// The stream of this thread for `device`.
void* current_stream(Device device);

}  // namespace wavefire
