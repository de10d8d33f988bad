// The device contract: memory, streams, events, graphs, modules and launches, the same for every
// vendor. Work is put on streams and nothing waits on its own: what waits says so in its name, and
// so do the drivers when memory is freed. All functions throw `Error` (device, or what the function
// says) in the driver's words, and leave the calling thread's current device as it was.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/driver.h"

namespace wavefire::device {

class Gpu;

/// An object of a driver that is destroyed with its owner. A moved-from one is empty.
template <class Handle, void (*destroy)(Gpu&, Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(Gpu& gpu, Handle handle) : gpu_(&gpu), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : gpu_(std::exchange(other.gpu_, nullptr)), handle_(std::exchange(other.handle_, {})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (gpu_ != nullptr && handle_ != Handle{}) destroy(*gpu_, handle_);
  }
  Handle get() const { return handle_; }
  Gpu& gpu() const { return *gpu_; }

 private:
  Gpu* gpu_ = nullptr;
  Handle handle_{};
};

void destroy_memory(Gpu& gpu, void* pointer);
void destroy_host_memory(Gpu& gpu, void* pointer);
void end_registration(Gpu& gpu, void* pointer);
void destroy_stream(Gpu& gpu, StreamHandle stream);
void destroy_event(Gpu& gpu, EventHandle event);
void destroy_graph(Gpu& gpu, GraphExecHandle graph);
void destroy_module(Gpu& gpu, ModuleHandle module);

/// Memory of a device, or pinned memory of the host that its copies reach without waiting.
template <void (*destroy)(Gpu&, void*)>
class Memory {
 public:
  Memory() = default;
  Memory(Gpu& gpu, void* pointer, std::size_t bytes) : owned_(gpu, pointer), bytes_(bytes) {}

  void* data() const { return owned_.get(); }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }

 private:
  Owned<void*, destroy> owned_;
  std::size_t bytes_ = 0;
};
using DeviceMemory = Memory<destroy_memory>;
using HostMemory = Memory<destroy_host_memory>;
/// Host memory of somebody else's that is pinned as long as this lives.
using HostRegistration = Memory<end_registration>;

class Event;

/// A queue of work: the caller's, or one of our own. It must live until its work has been waited
/// for, or be the caller's.
class Stream {
 public:
  /// The caller's stream, by its handle (cudaStream_t, hipStream_t; null: the default stream).
  Stream(Gpu& gpu, void* handle) : gpu_(&gpu), handle_(static_cast<StreamHandle>(handle)) {}
  /// A new one, which does not wait for the default stream.
  explicit Stream(Gpu& gpu);

  Gpu& gpu() const { return *gpu_; }
  StreamHandle handle() const { return handle_; }

  void record(const Event& event) const;
  /// Work put on this stream from now on waits for what `event` recorded; the host does not.
  void wait(const Event& event) const;
  /// Whether all work is done. Throws what went wrong in it.
  bool is_done() const;
  bool is_capturing() const;
  /// Waits, on the host, for all work. Throws what went wrong in it.
  void synchronize() const;

 private:
  Gpu* gpu_;
  StreamHandle handle_;
  Owned<StreamHandle, destroy_stream> owned_;
};

/// A point in the work of a stream.
class Event {
 public:
  enum class Timing { on, off };
  explicit Event(Gpu& gpu, Timing timing = Timing::off);

  EventHandle handle() const { return owned_.get(); }
  bool is_done() const;
  /// Waits on the host.
  void synchronize() const;
  /// Milliseconds between two recorded and finished events with timing.
  static float elapsed_ms(const Event& start, const Event& stop);

 private:
  Owned<EventHandle, destroy_event> owned_;
};

/// Work that was captured from a stream and can be launched many times.
class Graph {
 public:
  /// Calls `work`, which puts work on `stream`, and captures instead of running it. If `work`
  /// throws, the capture is ended and nothing of it stays. `stream` is not the default stream.
  static Graph capture(const Stream& stream, const std::function<void()>& work);

  void launch(const Stream& stream) const;

 private:
  Graph(Gpu& gpu, GraphExecHandle handle) : owned_(gpu, handle) {}
  Owned<GraphExecHandle, destroy_graph> owned_;
};

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  bool operator==(const Dim3&) const = default;
};
struct LaunchShape {
  Dim3 grid;
  Dim3 block;
  unsigned dynamic_shared_bytes = 0;
};

/// A function of a module. A plain value: the module must outlive it.
class Kernel {
 public:
  Kernel(Gpu& gpu, FunctionHandle handle, std::string name);

  Gpu& gpu() const { return *gpu_; }
  const std::string& name() const { return name_; }
  int registers() const { return attribute(FunctionAttribute::registers); }
  int static_shared_bytes() const { return attribute(FunctionAttribute::shared_bytes); }
  /// Of each thread: spills and arrays.
  int local_bytes() const { return attribute(FunctionAttribute::local_bytes); }
  int max_threads_per_block() const { return attribute(FunctionAttribute::max_threads_per_block); }
  /// Blocks that a multiprocessor holds at a time.
  int blocks_per_multiprocessor(int block_threads, std::size_t dynamic_shared_bytes) const;

  /// Puts the kernel on the stream. `params` are its arguments as a C struct lays them out, read
  /// before this returns: one struct, or one after the other, each aligned to its size.
  /// Throws `Error` (invalid_argument) for an empty or too large shape, or a stream of another
  /// device.
  void launch(const LaunchShape& shape, const void* params, std::size_t params_bytes,
              const Stream& stream) const;
  template <class Params>
  void launch(const LaunchShape& shape, const Params& params, const Stream& stream) const {
    static_assert(std::is_trivially_copyable_v<Params>);
    // A driver's buffer is aligned less: where in it such a struct lies the driver knows alone.
    if constexpr (alignof(Params) > 16) return launch_argument(shape, &params, stream);
    launch(shape, &params, sizeof params, stream);
  }

 private:
  int attribute(int name) const;
  /// For a kernel with one argument.
  void launch_argument(const LaunchShape& shape, const void* argument, const Stream& stream) const;
  /// As the drivers take it: pointers to the arguments, or `extra` that says where all lie.
  void put_on(const Stream& stream, const LaunchShape& shape, void** arguments, void** extra) const;

  Gpu* gpu_;
  FunctionHandle handle_;
  std::string name_;
};

/// Loaded code.
class Module {
 public:
  /// Throws `Error` (device) if there is none of that name, or (unsupported) if the device does
  /// not have that much shared memory for a block.
  Kernel kernel(const std::string& name, int max_dynamic_shared_bytes = 0) const;

 private:
  friend class Gpu;
  Module(Gpu& gpu, ModuleHandle handle) : owned_(gpu, handle) {}
  Owned<ModuleHandle, destroy_module> owned_;
};

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

/// One open device. They live as long as the process; `open_gpu` in devices.h finds them.
class Gpu {
 public:
  Gpu(Driver& driver, int ordinal, std::string id);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// "cuda:0", "hip:1", "virtual:gfx942"
  const std::string& id() const { return id_; }
  int ordinal() const { return ordinal_; }
  const Properties& properties() const { return properties_; }
  Driver& driver() const { return driver_; }
  MemoryInfo memory_info() const;

  /// Throws `Error` (out_of_memory) with what was asked for and what is free. Freeing waits for
  /// the device, as the drivers do. No memory for 0 bytes.
  DeviceMemory allocate(std::size_t bytes);
  /// Of the host, pinned, so that copies from and to it do not wait.
  HostMemory allocate_host(std::size_t bytes);
  HostRegistration register_host(void* pointer, std::size_t bytes);

  /// Between any two places, host or device. `from` must stay until the copy is done. Drivers may
  /// wait for copies from and to host memory that is not pinned.
  void copy(void* to, const void* from, std::size_t bytes, const Stream& stream);
  void fill(void* to, unsigned char value, std::size_t bytes, const Stream& stream);

  /// Loads a cubin, PTX or a code object. Throws `Error` (unsupported) if it holds no code for this
  /// device, (device) with the assembler's words if it cannot be loaded.
  Module load(std::span<const std::byte> image);

  /// Makes this device current for the calling thread until the end of the scope.
  ContextGuard guard() const { return {driver_, context_}; }
  /// Throws `Error` (invalid_argument) if `stream` belongs to another device.
  void check_stream(const char* operation, const Stream& stream) const;

 private:
  Driver& driver_;
  int ordinal_;
  std::string id_;
  Context context_;
  Properties properties_;
};

}  // namespace wavefire::device
