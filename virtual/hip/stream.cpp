#include "virtual/hip/stream.h"

#include <algorithm>
#include <map>

#include "virtual/hip/config.h"
#include "virtual/hip/graph.h"

namespace instinct::hip {
namespace {

const hipStream_t legacy_stream = reinterpret_cast<hipStream_t>(1);  // hipStreamLegacy

std::unique_lock<std::recursive_mutex> work_lock() {
  return std::unique_lock(Runtime::get().work_mutex());
}

std::vector<std::shared_ptr<Stream>> streams_of(Device& device) {
  auto streams = Runtime::get().streams.all();
  std::erase_if(streams, [&](const auto& stream) { return &stream->device() != &device; });
  return streams;
}

// The null stream and those that are not hipStreamNonBlocking wait for each other.
void add_implicit_waits(Stream& stream, std::vector<Ticket>& after) {
  Device& device = stream.device();
  const auto add = [&](const std::shared_ptr<Stream>& other) {
    after.push_back({other, other->last()});
  };
  if (&stream == device.null_stream().get()) {
    for (const auto& other : streams_of(device)) {
      if (other->blocking()) add(other);
    }
  } else if (stream.blocking()) {
    add(device.null_stream());
  }
}

}  // namespace

Ticket Stream::enqueue(Operation operation, std::vector<Ticket> after) {
  const auto lock = work_lock();
  if (!config().deferred) {  // everything before has run
    for (const Ticket& ticket : after) ticket.stream->run_until(ticket.number);
    ++submitted_;
    ++done_;
    run(device_, operation);
    return {shared_from_this(), submitted_};
  }
  add_implicit_waits(*this, after);
  entries_.push_back({std::move(operation), std::move(after)});
  return {shared_from_this(), ++submitted_};
}

u64 Stream::last() const {
  const auto lock = work_lock();
  return submitted_;
}

void Stream::run_one() {
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  ++done_;
  for (const Ticket& ticket : entry.after) ticket.stream->run_until(ticket.number);
  try {
    run(device_, entry.operation);
  } catch (const Failure& failure) {
    device_.fail(failure.code(), failure.what());
  } catch (const Error& error) {
    device_.fail(code_of(error.kind()), error.what());
  }
}

void Stream::run_until(u64 number) {
  const auto lock = work_lock();
  while (done_ < number && !entries_.empty()) run_one();
}

bool Stream::advance(u64 number) {
  const auto lock = work_lock();
  if (done_ < number && !entries_.empty()) {
    run_one();
    return false;
  }
  return true;
}

std::shared_ptr<Stream> stream_of(hipStream_t handle) {
  if (!handle || handle == legacy_stream) return current_device().null_stream();
  if (handle != hipStreamPerThread) return Runtime::get().streams.find(handle);
  thread_local std::map<int, std::shared_ptr<Stream>> own;
  Device& device = current_device();
  auto& stream = own[device.ordinal()];
  if (!stream) {
    stream = std::make_shared<Stream>(device, hipStreamDefault, 0);
    Runtime::get().streams.add(stream);
  }
  return stream;
}

void submit(Stream& stream, Operation operation) {
  const auto lock = work_lock();
  check(stream.device(), operation);
  if (stream.capture) {
    add_captured(stream, std::move(operation));
    return;
  }
  forbid_implicit_capture(stream);
  try {
    stream.enqueue(std::move(operation));
  } catch (const Failure& failure) {
    stream.device().fail(failure.code(), failure.what());
    throw;
  } catch (const Error& error) {
    stream.device().fail(code_of(error.kind()), error.what());
    throw;
  }
}

void synchronize(Stream& stream) {
  const auto lock = work_lock();
  forbid_wait(stream);
  stream.run_all();
  stream.device().tell_failure();
}

void synchronize(Device& device) {
  const auto lock = work_lock();
  device.null_stream()->run_all();
  for (const auto& stream : streams_of(device)) {
    forbid_wait(*stream);
    stream->run_all();
  }
  device.tell_failure();
}

void record(const std::shared_ptr<Event>& event, Stream& stream) {
  const auto lock = work_lock();
  if (stream.capture) {
    require(!stream.capture->invalidated, "the capture is invalid",
            hipErrorStreamCaptureInvalidated);
    event->capture = stream.capture;
    event->captured = stream.capture_tail;
    return;
  }
  forbid_implicit_capture(stream);
  u64 generation = 0;
  {
    const std::lock_guard event_lock(event->mutex);
    generation = ++event->generation;
    event->happened = false;
    event->capture.reset();
    event->captured.clear();
  }
  event->ticket = stream.enqueue(Record{event, generation});
}

void wait(Stream& stream, const std::shared_ptr<Event>& event) {
  const auto lock = work_lock();
  if (event->capture) {
    join_capture(stream, *event);
    return;
  }
  if (stream.capture) {
    if (!event->ticket.stream) return;
    stream.capture->invalidated = true;
    throw Failure(hipErrorStreamCaptureIsolation,
                  "a capturing stream would wait for an event outside of the capture");
  }
  if (event->ticket.stream) stream.wait_for(event->ticket);
}

}  // namespace instinct::hip
