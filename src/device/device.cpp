#include "device/device.h"

#include <algorithm>
#include <array>

#include "core/check.h"

namespace wavefire::device {
namespace {

const DriverFunctions& functions_of(const Gpu& gpu) { return gpu.driver().functions(); }

/// Destroys something: logs what goes wrong, since destructors call it.
template <class Call>
void release(const Gpu& gpu, const char* what, Call&& call) noexcept {
  try {
    const ContextGuard guard = gpu.guard();
    gpu.driver().check(call(functions_of(gpu)), what);
  } catch (const std::exception& error) {
    log_failure(error);
  }
}

using Functions = const DriverFunctions&;

}  // namespace

void destroy_memory(Gpu& gpu, void* pointer) {
  release(gpu, "free", [&](Functions) { return gpu.driver().free(pointer); });
}
void destroy_host_memory(Gpu& gpu, void* pointer) {
  release(gpu, "free of host memory", [&](Functions f) { return f.host_free(pointer); });
}
void end_registration(Gpu& gpu, void* pointer) {
  release(gpu, "end of a registration", [&](Functions f) { return f.host_unregister(pointer); });
}
void destroy_stream(Gpu& gpu, StreamHandle stream) {
  release(gpu, "end of a stream", [&](Functions f) { return f.stream_destroy(stream); });
}
void destroy_event(Gpu& gpu, EventHandle event) {
  release(gpu, "end of an event", [&](Functions f) { return f.event_destroy(event); });
}
void destroy_graph(Gpu& gpu, GraphExecHandle graph) {
  release(gpu, "end of a graph", [&](Functions f) { return f.graph_exec_destroy(graph); });
}
void destroy_module(Gpu& gpu, ModuleHandle module) {
  release(gpu, "unloading of a module", [&](Functions f) { return f.module_unload(module); });
}

Stream::Stream(Gpu& gpu) : gpu_(&gpu), handle_(nullptr) {
  const ContextGuard guard = gpu.guard();
  gpu.driver().check(functions_of(gpu).stream_create(&handle_, StreamFlag::non_blocking, 0),
                     "new stream");
  owned_ = {gpu, handle_};
}

void Stream::record(const Event& event) const {
  const ContextGuard guard = gpu_->guard();  // the default stream is the current device's
  gpu_->driver().check(functions_of(*gpu_).event_record(event.handle(), handle_), "event record");
}

void Stream::wait(const Event& event) const {
  const ContextGuard guard = gpu_->guard();
  gpu_->driver().check(functions_of(*gpu_).stream_wait_event(handle_, event.handle(), 0),
                       "wait for an event");
}

bool Stream::is_done() const {
  const ContextGuard guard = gpu_->guard();
  return gpu_->driver().succeeds(functions_of(*gpu_).stream_query(handle_), Status::not_ready,
                                 "stream query");
}

bool Stream::is_capturing() const {
  const ContextGuard guard = gpu_->guard();
  int status = 0;
  gpu_->driver().check(functions_of(*gpu_).stream_is_capturing(handle_, &status), "capture query");
  return status != 0;
}

void Stream::synchronize() const {
  const ContextGuard guard = gpu_->guard();
  gpu_->driver().check(functions_of(*gpu_).stream_synchronize(handle_), "stream synchronize");
}

Event::Event(Gpu& gpu, Timing timing) {
  const ContextGuard guard = gpu.guard();
  EventHandle handle = nullptr;
  const unsigned flags = timing == Timing::on ? EventFlag::timing : EventFlag::no_timing;
  gpu.driver().check(functions_of(gpu).event_create(&handle, flags), "new event");
  owned_ = {gpu, handle};
}

bool Event::is_done() const {
  Gpu& gpu = owned_.gpu();
  return gpu.driver().succeeds(functions_of(gpu).event_query(handle()), Status::not_ready,
                               "event query");
}

void Event::synchronize() const {
  Gpu& gpu = owned_.gpu();
  gpu.driver().check(functions_of(gpu).event_synchronize(handle()), "event synchronize");
}

float Event::elapsed_ms(const Event& start, const Event& stop) {
  Gpu& gpu = start.owned_.gpu();
  float milliseconds = 0;
  gpu.driver().check(functions_of(gpu).event_elapsed(&milliseconds, start.handle(), stop.handle()),
                     "time between events");
  return milliseconds;
}

Graph Graph::capture(const Stream& stream, const std::function<void()>& work) {
  Gpu& gpu = stream.gpu();
  const DriverFunctions& call = functions_of(gpu);
  const ContextGuard guard = gpu.guard();
  gpu.driver().check(call.stream_begin_capture(stream.handle(), capture_mode_thread_local),
                     "begin of a capture");
  GraphHandle graph = nullptr;
  try {
    work();
  } catch (...) {
    // What is captured so far is incomplete, and the driver may have given it up already.
    if (call.stream_end_capture(stream.handle(), &graph) == Status::success && graph != nullptr) {
      release(gpu, "end of a captured graph", [&](Functions f) { return f.graph_destroy(graph); });
    }
    throw;
  }
  gpu.driver().check(call.stream_end_capture(stream.handle(), &graph), "end of a capture");
  GraphExecHandle exec = nullptr;
  const int status = call.graph_instantiate(&exec, graph, 0);
  release(gpu, "end of a captured graph", [&](Functions f) { return f.graph_destroy(graph); });
  gpu.driver().check(status, "new graph");
  return {gpu, exec};
}

void Graph::launch(const Stream& stream) const {
  Gpu& gpu = owned_.gpu();
  gpu.check_stream("graph launch", stream);
  const ContextGuard guard = gpu.guard();
  gpu.driver().check(functions_of(gpu).graph_launch(owned_.get(), stream.handle()), "graph launch");
}

Kernel::Kernel(Gpu& gpu, FunctionHandle handle, std::string name)
    : gpu_(&gpu), handle_(handle), name_(std::move(name)) {}

int Kernel::attribute(int name) const {
  int value = 0;
  const ContextGuard guard = gpu_->guard();
  gpu_->driver().check(functions_of(*gpu_).function_attribute(&value, name, handle_),
                       "attribute of a kernel");
  return value;
}

int Kernel::blocks_per_multiprocessor(int block_threads, std::size_t dynamic_shared_bytes) const {
  int blocks = 0;
  const ContextGuard guard = gpu_->guard();
  gpu_->driver().check(
      functions_of(*gpu_).occupancy(&blocks, handle_, block_threads, dynamic_shared_bytes),
      "occupancy");
  return blocks;
}

void Kernel::put_on(const Stream& stream, const LaunchShape& shape, void** arguments,
                    void** extra) const {
  gpu_->check_stream(name_.c_str(), stream);
  const auto& [grid, block, dynamic_shared_bytes] = shape;
  const auto product = [](const Dim3& d) { return std::uint64_t{d.x} * d.y * d.z; };
  const auto text = [](const Dim3& d) {
    return core::join(d.x, " x ", d.y, " x ", d.z).operator std::string();
  };
  if (product(grid) == 0) core::fail_argument(name_, "grid", text(grid), "1 block or more");
  const int most = gpu_->properties().max_threads_per_block;
  if (product(block) == 0 || product(block) > static_cast<std::uint64_t>(most)) {
    core::fail_argument(name_, "block", text(block), core::join("1 to ", most, " threads"));
  }
  const ContextGuard guard = gpu_->guard();
  const int status =
      functions_of(*gpu_).launch(handle_, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                 dynamic_shared_bytes, stream.handle(), arguments, extra);
  if (status != Status::success) gpu_->driver().check(status, ("launch of " + name_).c_str());
}

void Kernel::launch(const LaunchShape& shape, const void* params, std::size_t params_bytes,
                    const Stream& stream) const {
  std::size_t bytes = params_bytes;
  std::array<void*, 5> extra = {reinterpret_cast<void*>(LaunchExtra::buffer_pointer),
                                const_cast<void*>(params),
                                reinterpret_cast<void*>(LaunchExtra::buffer_size), &bytes,
                                reinterpret_cast<void*>(gpu_->driver().launch_extra_end())};
  put_on(stream, shape, nullptr, extra.data());
}

void Kernel::launch_argument(const LaunchShape& shape, const void* argument,
                             const Stream& stream) const {
  void* arguments[] = {const_cast<void*>(argument)};
  put_on(stream, shape, arguments, nullptr);
}

Kernel Module::kernel(const std::string& name, int max_dynamic_shared_bytes) const {
  Gpu& gpu = owned_.gpu();
  const ContextGuard guard = gpu.guard();
  FunctionHandle handle = nullptr;
  const int status = functions_of(gpu).module_function(&handle, owned_.get(), name.c_str());
  gpu.driver().check(status, ("looking for kernel '" + name + "'").c_str());
  Kernel kernel(gpu, handle, name);
  if (max_dynamic_shared_bytes > 0) {
    const int most = gpu.properties().shared_bytes_per_block - kernel.static_shared_bytes();
    if (max_dynamic_shared_bytes > most) {
      core::fail_unsupported(
          name, core::join(max_dynamic_shared_bytes, " bytes of dynamic shared memory; ", gpu.id(),
                           " (", gpu.properties().name, ") has ", most));
    }
    gpu.driver().allow_dynamic_shared(handle, max_dynamic_shared_bytes);
  }
  return kernel;
}

Gpu::Gpu(Driver& driver, int ordinal, std::string id)
    : driver_(driver),
      ordinal_(ordinal),
      id_(std::move(id)),
      context_(driver.context(ordinal)),
      properties_(driver.properties(ordinal)) {}

MemoryInfo Gpu::memory_info() const {
  const ContextGuard guard = this->guard();
  MemoryInfo info;
  driver_.check(driver_.functions().memory_info(&info.free_bytes, &info.total_bytes),
                "memory query");
  return info;
}

DeviceMemory Gpu::allocate(std::size_t bytes) {
  if (bytes == 0) return {};
  const ContextGuard guard = this->guard();
  void* pointer = nullptr;
  const int status = driver_.allocate(&pointer, bytes);
  if (!driver_.succeeds(status, Status::out_of_memory, "allocation")) {
    const auto [free_bytes, total_bytes] = memory_info();
    throw Error(ErrorKind::out_of_memory,
                core::join(id_, ": out of device memory: asked for ", bytes, " bytes, ", free_bytes,
                           " of ", total_bytes, " are free"));
  }
  return {*this, pointer, bytes};
}

HostMemory Gpu::allocate_host(std::size_t bytes) {
  if (bytes == 0) return {};
  const ContextGuard guard = this->guard();
  void* pointer = nullptr;
  driver_.check(driver_.functions().host_allocate(&pointer, bytes, 0),
                "allocation of pinned host memory");
  return {*this, pointer, bytes};
}

HostRegistration Gpu::register_host(void* pointer, std::size_t bytes) {
  const ContextGuard guard = this->guard();
  driver_.check(driver_.functions().host_register(pointer, bytes, 0), "pinning of host memory");
  return {*this, pointer, bytes};
}

void Gpu::copy(void* to, const void* from, std::size_t bytes, const Stream& stream) {
  check_stream("copy", stream);
  if (bytes == 0) return;
  const ContextGuard guard = this->guard();
  driver_.check(driver_.copy(to, from, bytes, stream.handle()), "copy");
}

void Gpu::fill(void* to, unsigned char value, std::size_t bytes, const Stream& stream) {
  check_stream("fill", stream);
  if (bytes == 0) return;
  const ContextGuard guard = this->guard();
  driver_.check(driver_.fill(to, value, bytes, stream.handle()), "fill");
}

Module Gpu::load(std::span<const std::byte> image) {
  const ContextGuard guard = this->guard();
  return {*this, driver_.load(image)};
}

void Gpu::check_stream(const char* operation, const Stream& stream) const {
  if (&stream.gpu() != this) {
    core::fail_argument(operation, "stream", core::join("of ", stream.gpu().id()),
                        core::join("a stream of ", id_));
  }
}

}  // namespace wavefire::device
