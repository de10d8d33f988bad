// What cuda/ and hip/ fulfil: the driver of one vendor's devices, over functions that are looked up
// at run time. Both vendors' functions are alike up to their names; those that are not are virtual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "device/library.h"
#include "tile/tensor_map.h"
#include "wavefire/error.h"

namespace wavefire::device {

// Objects of a driver, seen through pointers only: CUstream and hipStream_t, and so on.
using StreamHandle = struct OpaqueStream*;  // null: the default stream
using EventHandle = struct OpaqueEvent*;
using GraphHandle = struct OpaqueGraph*;
using GraphExecHandle = struct OpaqueGraphExec*;
using ModuleHandle = struct OpaqueModule*;
using FunctionHandle = struct OpaqueFunction*;

/// What makes a device current for the calling thread: a CUcontext, an ordinal of HIP.
using Context = std::intptr_t;

/// The functions whose prototypes are the same for both vendors. `int` stands for their
/// enumerations; 0 is success.
struct DriverFunctions {
  int (*init)(unsigned flags) = nullptr;
  int (*version)(int* version) = nullptr;
  int (*error_name)(int error, const char** name) = nullptr;
  int (*error_text)(int error, const char** text) = nullptr;

  int (*device_count)(int* count) = nullptr;
  int (*device_name)(char* name, int bytes, int ordinal) = nullptr;
  int (*device_memory)(std::size_t* bytes, int ordinal) = nullptr;
  int (*device_attribute)(int* value, int attribute, int ordinal) = nullptr;

  int (*memory_info)(std::size_t* free_bytes, std::size_t* total_bytes) = nullptr;
  int (*host_allocate)(void** pointer, std::size_t bytes, unsigned flags) = nullptr;
  int (*host_free)(void* pointer) = nullptr;
  int (*host_register)(void* pointer, std::size_t bytes, unsigned flags) = nullptr;
  int (*host_unregister)(void* pointer) = nullptr;

  int (*stream_create)(StreamHandle* stream, unsigned flags, int priority) = nullptr;
  int (*stream_destroy)(StreamHandle stream) = nullptr;
  int (*stream_query)(StreamHandle stream) = nullptr;
  int (*stream_synchronize)(StreamHandle stream) = nullptr;
  int (*stream_wait_event)(StreamHandle stream, EventHandle event, unsigned flags) = nullptr;
  int (*stream_begin_capture)(StreamHandle stream, int mode) = nullptr;
  int (*stream_end_capture)(StreamHandle stream, GraphHandle* graph) = nullptr;
  int (*stream_is_capturing)(StreamHandle stream, int* status) = nullptr;

  int (*event_create)(EventHandle* event, unsigned flags) = nullptr;
  int (*event_destroy)(EventHandle event) = nullptr;
  int (*event_record)(EventHandle event, StreamHandle stream) = nullptr;
  int (*event_query)(EventHandle event) = nullptr;
  int (*event_synchronize)(EventHandle event) = nullptr;
  int (*event_elapsed)(float* milliseconds, EventHandle start, EventHandle stop) = nullptr;

  int (*graph_instantiate)(GraphExecHandle* exec, GraphHandle graph,
                           unsigned long long flags) = nullptr;
  int (*graph_launch)(GraphExecHandle exec, StreamHandle stream) = nullptr;
  int (*graph_destroy)(GraphHandle graph) = nullptr;
  int (*graph_exec_destroy)(GraphExecHandle exec) = nullptr;

  int (*module_load)(ModuleHandle* module, const void* image, unsigned option_count, int* options,
                     void** values) = nullptr;
  int (*module_unload)(ModuleHandle module) = nullptr;
  int (*module_function)(FunctionHandle* function, ModuleHandle module, const char* name) = nullptr;
  int (*function_attribute)(int* value, int attribute, FunctionHandle function) = nullptr;
  int (*launch)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes,
                StreamHandle stream, void** parameters, void** extra) = nullptr;
  int (*occupancy)(int* blocks, FunctionHandle function, int block_threads,
                   std::size_t dynamic_shared_bytes) = nullptr;
};

// Numbers that mean the same to both vendors.
struct Status {
  static constexpr int success = 0;
  static constexpr int out_of_memory = 2;
  static constexpr int no_device = 100;
  static constexpr int no_binary_for_gpu = 209;
  static constexpr int not_ready = 600;
};
struct FunctionAttribute {
  static constexpr int max_threads_per_block = 0;
  static constexpr int shared_bytes = 1;
  static constexpr int local_bytes = 3;
  static constexpr int registers = 4;
  static constexpr int max_dynamic_shared_bytes = 8;
};

struct StreamFlag {
  static constexpr unsigned non_blocking = 1;  // does not wait for the default stream
};
struct EventFlag {
  static constexpr unsigned timing = 0;
  static constexpr unsigned no_timing = 2;
};
inline constexpr int capture_mode_thread_local = 1;  // other threads may allocate meanwhile
struct LaunchExtra {
  static constexpr std::uintptr_t buffer_pointer = 1;
  static constexpr std::uintptr_t buffer_size = 2;
};

/// What kernels and planners ask of a device.
struct Properties {
  std::string name;          // "NVIDIA H200"
  std::string architecture;  // "sm_90", "gfx942"
  int multiprocessors = 0;   // SMs, compute units
  int warp_size = 0;         // threads that execute together
  int max_threads_per_block = 0;
  int max_threads_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;  // of 32 bits
  int shared_bytes_per_block = 0;        // the most that a kernel may ask for
  int shared_bytes_per_multiprocessor = 0;
  int l2_bytes = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::size_t memory_bytes = 0;
};

/// Which of a driver's attributes tells a property.
struct PropertyAttribute {
  int Properties::* property;
  int attribute;
};
/// All of them; `Attribute` has the vendor's numbers under these names.
template <class Attribute>
inline constexpr PropertyAttribute property_attributes[] = {
    {&Properties::multiprocessors, Attribute::multiprocessors},
    {&Properties::warp_size, Attribute::warp_size},
    {&Properties::max_threads_per_block, Attribute::max_threads_per_block},
    {&Properties::max_threads_per_multiprocessor, Attribute::max_threads_per_multiprocessor},
    {&Properties::registers_per_multiprocessor, Attribute::registers_per_multiprocessor},
    {&Properties::shared_bytes_per_block, Attribute::shared_bytes_per_block},
    {&Properties::shared_bytes_per_multiprocessor, Attribute::shared_bytes_per_multiprocessor},
    {&Properties::l2_bytes, Attribute::l2_bytes},
    {&Properties::clock_khz, Attribute::clock_khz},
    {&Properties::memory_clock_khz, Attribute::memory_clock_khz},
    {&Properties::memory_bus_bits, Attribute::memory_bus_bits},
};

/// A tensor of 16-bit elements as a copy engine sees it: dimensions from the innermost on, which is
/// contiguous, strides of the others in bytes, and the box that one copy takes.
struct TensorShape {
  static constexpr unsigned rank = 4;
  std::uint64_t dims[rank];
  std::uint64_t strides[rank - 1];
  std::uint32_t box[rank];
};

/// For destructors, which must not throw: a driver may be gone at the end of the process.
void log_failure(const std::exception& error) noexcept;

class Driver {
 public:
  virtual ~Driver() = default;

  /// "cuda", "hip" or "virtual": begins the names of its devices and its errors.
  const std::string& kind() const { return kind_; }
  const std::string& library_path() const { return library_path_; }
  /// As the vendor writes it: 13000 (CUDA 13.0), 60140091 (ROCm 6.1).
  int version() const;
  int device_count() const;
  const DriverFunctions& functions() const { return functions_; }
  /// What ends the list of a launch's `extra` arguments.
  std::uintptr_t launch_extra_end() const { return launch_extra_end_; }

  /// Throws `Error` with the driver's words unless `status` is success: out_of_memory; unsupported
  /// for code that is not for this device; else device.
  void check(int status, const char* function) const;
  /// True for success, false for `tolerated`; throws as `check` does for all else.
  bool succeeds(int status, int tolerated, const char* function) const;

  virtual Properties properties(int ordinal) const = 0;
  virtual Context context(int ordinal) = 0;
  virtual Context current() const = 0;
  virtual void set_current(Context context) const = 0;

  virtual int allocate(void** pointer, std::size_t bytes) const = 0;
  virtual int free(void* pointer) const = 0;
  virtual int copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) const = 0;
  virtual int fill(void* to, unsigned char value, std::size_t bytes, StreamHandle stream) const = 0;

  virtual ModuleHandle load(std::span<const std::byte> image) const = 0;
  /// Lets launches of `function` ask for up to that much dynamic shared memory.
  virtual void allow_dynamic_shared(FunctionHandle function, int bytes) const = 0;
  /// What the copy engine is told to take boxes of a tensor into shared memory in the 128-byte
  /// swizzle. False: there is no such engine, or it does not take such a tensor.
  virtual bool encode(tile::TensorMap&, const void* /*data*/, const TensorShape&) const {
    return false;
  }

 protected:
  Driver(const LibraryName& name, const Library& library,
         std::span<const Symbol<DriverFunctions>> symbols, std::uintptr_t launch_extra_end);

  /// What else is known about an error that just happened on this thread; forgets it.
  virtual std::string take_detail() const { return {}; }
  int attribute(int attribute, int ordinal) const;
  /// All but the architecture.
  Properties common_properties(int ordinal, std::span<const PropertyAttribute> attributes) const;

  /// To be called once, before anything else. A machine without a device is no error: then other
  /// calls would be, so that none is made.
  void initialize(const char* function);

 private:
  std::string describe(int status, const char* function) const;

  bool has_devices_ = true;

  std::string kind_;
  std::string library_path_;
  DriverFunctions functions_;
  std::uintptr_t launch_extra_end_;
};

/// Makes a device current for the calling thread until the end of the scope.
class ContextGuard {
 public:
  ContextGuard(const Driver& driver, Context context);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  const Driver& driver_;
  Context before_;
  bool changed_;
};

}  // namespace wavefire::device
