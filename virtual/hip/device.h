// Devices, modules, and all that exists once in a process.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "virtual/code_object.h"
#include "virtual/hip/handles.h"
#include "virtual/hip/hip_types.h"
#include "virtual/memory.h"
#include "virtual/report.h"

namespace instinct::hip {

class Stream;
struct Event;
struct Graph;
struct GraphExec;
struct Node;

class Device {
 public:
  Device(int ordinal, Target target, u64 memory_bytes);

  int ordinal() const { return ordinal_; }
  Target target() const { return target_; }
  Memory& memory() { return memory_; }
  const std::shared_ptr<Stream>& null_stream() const { return null_stream_; }

  // Work on the device failed: the next call that waits for the device returns it.
  void fail(hipError_t code, const std::string& text);
  // Throws the Failure that waits to be told, if any.
  void tell_failure();

 private:
  int ordinal_;
  Target target_;
  Memory memory_;
  std::shared_ptr<Stream> null_stream_;
  std::mutex mutex_;
  hipError_t failure_ = hipSuccess;
  std::string failure_text_;
};

// A kernel of a loaded module. It keeps the module's code.
struct Function {
  Device* device;
  std::shared_ptr<const CodeObject> object;
  const Kernel* kernel;
  u32 max_dynamic_lds = 0;  // as set by hipFuncSetAttribute; told, not needed
};

struct Module {
  Device* device;
  std::shared_ptr<const CodeObject> object;
  std::mutex mutex;  // of what follows
  std::vector<std::pair<std::string, hipFunction_t>> functions;
};

class Runtime {
 public:
  // Throws Failure (hipErrorNoDevice) if the environment was not understood.
  static Runtime& get();

  int device_count() const { return static_cast<int>(devices_.size()); }
  Device& device(int ordinal);  // throws Failure
  Device& current();            // of the calling thread
  void set_current(int ordinal);
  // The device whose memory (or registered host memory) holds an address, or nullptr.
  Device* owner_of(u64 address);

  std::shared_ptr<Module> load(Device& device, std::span<const std::byte> file);

  // What a kernel did wrong, on stderr and for wavefireVirtualLastReport.
  void tell(const Report& report);
  std::string last_report() const;
  u64 report_count() const;

  Handles<Module, hipModule_t> modules{"module"};
  Handles<Function, hipFunction_t> functions{"kernel function"};
  Handles<Stream, hipStream_t> streams{"stream"};
  Handles<Event, hipEvent_t> events{"event"};
  Handles<Graph, hipGraph_t> graphs{"graph", hipErrorInvalidValue};
  Handles<GraphExec, hipGraphExec_t> graph_execs{"executable graph", hipErrorInvalidValue};
  Handles<Node, hipGraphNode_t> nodes{"graph node", hipErrorInvalidValue};

  // Work of all streams runs under this lock, one operation at a time. (A kernel uses all cores.)
  std::recursive_mutex& work_mutex() { return work_mutex_; }

 private:
  Runtime();

  std::vector<std::unique_ptr<Device>> devices_;
  std::recursive_mutex work_mutex_;
  mutable std::mutex mutex_;
  std::string last_report_;
  u64 report_count_ = 0;
};

// The current device of the calling thread.
inline Device& current_device() { return Runtime::get().current(); }

// Removes a module's code from its device's memory.
void unload(Module& module);

}  // namespace instinct::hip
