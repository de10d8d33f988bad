// Streams, events, and what runs in them.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "virtual/execute.h"
#include "virtual/hip/device.h"

namespace instinct::hip {

class Capture;

// A place in a stream: all that was given to it before.
struct Ticket {
  std::shared_ptr<Stream> stream;
  u64 number = 0;
};

struct KernelRun {
  std::shared_ptr<Function> function;
  Dim3 grid;
  Dim3 block;
  u32 dynamic_lds = 0;
  std::vector<std::byte> arguments;  // the explicit ones
};

// Rows of bytes; `rows` is 1 for a plain copy.
struct Copy {
  u64 to = 0;
  u64 from = 0;
  bool to_device = false;  // the caller says so: an address that no device knows is an error
  bool from_device = false;
  u64 bytes = 0;
  u64 to_pitch = 0;
  u64 from_pitch = 0;
  u64 rows = 1;
};

struct Fill {
  u64 to = 0;
  u32 value = 0;
  u32 element_bytes = 1;
  u64 count = 0;  // of elements in a row
  u64 pitch = 0;
  u64 rows = 1;
};

struct HostCall {
  std::function<void()> function;
};

struct Record {
  std::shared_ptr<Event> event;
  u64 generation = 0;
};

struct Nothing {};

struct Steps;
using Operation =
    std::variant<Nothing, KernelRun, Copy, Fill, HostCall, Record, std::shared_ptr<const Steps>>;

// A graph's operations in the order in which they run.
struct Steps {
  std::vector<Operation> operations;
};

// Throws Failure for a direction that HIP does not know.
Copy make_copy(void* to, const void* from, u64 bytes, hipMemcpyKind kind);

// Throws Failure for ranges that are not within one allocation, launches that cannot start, etc.
void check(Device& device, const Operation& operation);
// Checks it again, as memory and modules may be gone since it was submitted, and does it now.
// Throws Failure.
void run(Device& device, const Operation& operation);

struct Event {
  unsigned flags = hipEventDefault;
  Device* device = nullptr;  // of creation
  std::mutex mutex;
  u64 generation = 0;  // counts records
  Ticket ticket;       // of the last record; no stream: never recorded
  bool happened = false;
  std::chrono::steady_clock::time_point time;
  // Recorded in a capturing stream: a place in its graph.
  std::shared_ptr<Capture> capture;
  std::vector<std::shared_ptr<Node>> captured;
};

// Operations run in order. By default each runs at once, on the thread that submits it. In deferred
// mode it runs when something waits for it, so that a missing wait shows.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Device& device, unsigned flags, int priority)
      : device_(device), flags_(flags), priority_(priority) {}

  Device& device() { return device_; }
  unsigned flags() const { return flags_; }
  int priority() const { return priority_; }
  bool blocking() const { return !(flags_ & hipStreamNonBlocking); }

  // Appends to the stream. In eager mode it throws the Failure of the operation itself.
  Ticket enqueue(Operation operation, std::vector<Ticket> after = {});
  void wait_for(const Ticket& ticket) { enqueue(Nothing{}, {ticket}); }

  // Runs all up to a place (or everything).
  void run_until(u64 number);
  void run_all() { run_until(last()); }
  // Runs one operation, for queries. Whether nothing is left up to `number`.
  bool advance(u64 number);
  u64 last() const;

  // Of a capture under way; guarded by the runtime's work mutex.
  std::shared_ptr<Capture> capture;
  std::vector<std::shared_ptr<Node>> capture_tail;

 private:
  struct Entry {
    Operation operation;
    std::vector<Ticket> after;
  };
  void run_one();

  Device& device_;
  unsigned flags_;
  int priority_;
  std::deque<Entry> entries_;
  u64 submitted_ = 0;
  u64 done_ = 0;
};

// A handle's stream; null and hipStreamPerThread are those of the current device. Throws Failure.
std::shared_ptr<Stream> stream_of(hipStream_t handle);

// Gives an operation to a stream: into the graph if the stream is being captured.
void submit(Stream& stream, Operation operation);

// Waits for all streams of a device. Throws what failed on it.
void synchronize(Device& device);
void synchronize(Stream& stream);

void record(const std::shared_ptr<Event>& event, Stream& stream);
void wait(Stream& stream, const std::shared_ptr<Event>& event);

}  // namespace instinct::hip
