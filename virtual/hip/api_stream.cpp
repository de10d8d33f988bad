// Streams and events.
#include "virtual/hip/graph.h"
#include "virtual/hip/hip_api.h"
#include "virtual/hip/stream.h"

using namespace instinct;
using namespace instinct::hip;

namespace {

void create_stream(hipStream_t* stream, unsigned int flags, int priority) {
  require(stream, "stream is null");
  require((flags & ~static_cast<unsigned>(hipStreamNonBlocking)) == 0, "unknown flags");
  Device& device = current_device();
  *stream = Runtime::get().streams.add(
      std::make_shared<Stream>(device, flags, std::min(std::max(priority, -1), 1)));
}

// Of the last record, with the event's lock.
Ticket ticket_of(Event& event) {
  require(!event.capture, "the event was last recorded in a capture", hipErrorCapturedEvent);
  return event.ticket;
}

bool has_happened(Event& event) {
  const std::lock_guard lock(event.mutex);
  return event.happened || !event.ticket.stream;
}

}  // namespace

extern "C" {

hipError_t hipStreamCreate(hipStream_t* stream) {
  return call(__func__, [&] { create_stream(stream, hipStreamDefault, 0); });
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return call(__func__, [&] { create_stream(stream, flags, 0); });
}

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags, int priority) {
  return call(__func__, [&] { create_stream(stream, flags, priority); });
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  return call(__func__, [&] {
    const auto removed = Runtime::get().streams.remove(stream);
    if (!removed->capture) removed->run_all();
  });
}

hipError_t hipStreamQuery(hipStream_t stream) {
  return call(__func__, [&] {
    const auto found = stream_of(stream);
    forbid_wait(*found);
    if (!found->advance(found->last())) return hipErrorNotReady;
    found->device().tell_failure();
    return hipSuccess;
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  return call(__func__, [&] { synchronize(*stream_of(stream)); });
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int) {
  return call(__func__, [&] { hip::wait(*stream_of(stream), Runtime::get().events.find(event)); });
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int* flags) {
  return call(__func__, [&] {
    require(flags, "flags is null");
    *flags = stream_of(stream)->flags();
  });
}

hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  return call(__func__, [&] {
    require(priority, "priority is null");
    *priority = stream_of(stream)->priority();
  });
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  return call(__func__, [&] {
    require(device, "device is null");
    *device = stream_of(stream)->device().ordinal();
  });
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data,
                                unsigned int flags) {
  return call(__func__, [&] {
    require(callback && flags == 0, "callback is null, or flags are not zero");
    submit(*stream_of(stream),
           HostCall{[stream, callback, data] { callback(stream, hipSuccess, data); }});
  });
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  return call(__func__, [&] {
    require(function, "function is null");
    submit(*stream_of(stream), HostCall{[function, data] { function(data); }});
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int flags) {
  return call(__func__, [&] {
    require(event, "event is null");
    auto made = std::make_shared<Event>();
    made->flags = flags;
    made->device = &current_device();
    *event = Runtime::get().events.add(std::move(made));
  });
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return hipEventCreateWithFlags(event, hipEventDefault);
}

hipError_t hipEventDestroy(hipEvent_t event) {
  return call(__func__, [&] { Runtime::get().events.remove(event); });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call(__func__, [&] {
    const auto found = Runtime::get().events.find(event);
    const auto target = stream_of(stream);
    require(found->device == &target->device(), "event and stream are of different devices",
            hipErrorInvalidHandle);
    record(found, *target);
  });
}

hipError_t hipEventQuery(hipEvent_t event) {
  return call(__func__, [&] {
    const auto found = Runtime::get().events.find(event);
    const Ticket ticket = ticket_of(*found);
    if (!ticket.stream || ticket.stream->advance(ticket.number)) return hipSuccess;
    return hipErrorNotReady;
  });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return call(__func__, [&] {
    const Ticket ticket = ticket_of(*Runtime::get().events.find(event));
    if (!ticket.stream) return;
    ticket.stream->run_until(ticket.number);
    ticket.stream->device().tell_failure();
  });
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return call(__func__, [&] {
    require(milliseconds, "milliseconds is null");
    const auto first = Runtime::get().events.find(start);
    const auto last = Runtime::get().events.find(stop);
    for (const auto& event : {first, last}) {
      require(!(event->flags & hipEventDisableTiming), "an event was made without timing",
              hipErrorInvalidHandle);
      require(ticket_of(*event).stream != nullptr, "an event was not recorded",
              hipErrorInvalidHandle);
    }
    if (!has_happened(*first) || !has_happened(*last)) return hipErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
    return hipSuccess;
  });
}

}  // extern "C"
