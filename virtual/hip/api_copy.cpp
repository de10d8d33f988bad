// Copies and fills.
#include "virtual/hip/graph.h"
#include "virtual/hip/hip_api.h"
#include "virtual/hip/stream.h"

using namespace instinct;
using namespace instinct::hip;

namespace {

Copy make_copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                  std::size_t width, std::size_t height, hipMemcpyKind kind) {
  Copy copy = make_copy(to, from, width, kind);
  copy.to_pitch = to_pitch;
  copy.from_pitch = from_pitch;
  copy.rows = height;
  return copy;
}

Fill make_fill(void* to, u32 value, u32 element_bytes, std::size_t count) {
  return {.to = reinterpret_cast<u64>(to),
          .value = value,
          .element_bytes = element_bytes,
          .count = count};
}

Fill make_fill_2d(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  Fill fill = make_fill(to, static_cast<u32>(value), 1, width);
  fill.pitch = pitch;
  fill.rows = height;
  return fill;
}

void submit_to(hipStream_t stream, Operation operation) {
  submit(*stream_of(stream), std::move(operation));
}

// In the null stream, and done when it returns.
void do_now(Operation operation) {
  forbid_while_capturing();
  Stream& stream = *current_device().null_stream();
  submit(stream, std::move(operation));
  synchronize(stream);
}

}  // namespace

extern "C" {

hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return call(__func__, [&] { do_now(make_copy(to, from, bytes, kind)); });
}

hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream) {
  return call(__func__, [&] { submit_to(stream, make_copy(to, from, bytes, kind)); });
}

hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream) {
  return call(__func__, [&] {
    const auto target = stream_of(stream);
    submit(*target, make_copy(to, from, bytes, kind));
    synchronize(*target);
  });
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void* from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
}

hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void* from, size_t bytes, hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream);
}

hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes, hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream);
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                              hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return call(__func__, [&] {
    Runtime::get().device(to_device);
    Runtime::get().device(from_device);
    do_now(make_copy(to, from, bytes, hipMemcpyDeviceToDevice));
  });
}

hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                              size_t bytes, hipStream_t stream) {
  return call(__func__, [&] {
    Runtime::get().device(to_device);
    Runtime::get().device(from_device);
    submit_to(stream, make_copy(to, from, bytes, hipMemcpyDeviceToDevice));
  });
}

hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                       size_t height, hipMemcpyKind kind) {
  return call(__func__,
              [&] { do_now(make_copy_2d(to, to_pitch, from, from_pitch, width, height, kind)); });
}

hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                            size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream) {
  return call(__func__, [&] {
    submit_to(stream, make_copy_2d(to, to_pitch, from, from_pitch, width, height, kind));
  });
}

hipError_t hipMemset(void* to, int value, size_t bytes) {
  return call(__func__, [&] { do_now(make_fill(to, static_cast<u32>(value), 1, bytes)); });
}

hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  return call(__func__,
              [&] { submit_to(stream, make_fill(to, static_cast<u32>(value), 1, bytes)); });
}

hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return call(__func__, [&] { do_now(make_fill(to, value, 1, count)); });
}

hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
  return call(__func__, [&] { do_now(make_fill(to, value, 2, count)); });
}

hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  return call(__func__, [&] { do_now(make_fill(to, static_cast<u32>(value), 4, count)); });
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                            hipStream_t stream) {
  return call(__func__, [&] { submit_to(stream, make_fill(to, value, 1, count)); });
}

hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                             hipStream_t stream) {
  return call(__func__, [&] { submit_to(stream, make_fill(to, value, 2, count)); });
}

hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
  return call(__func__,
              [&] { submit_to(stream, make_fill(to, static_cast<u32>(value), 4, count)); });
}

hipError_t hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return call(__func__, [&] { do_now(make_fill_2d(to, pitch, value, width, height)); });
}

hipError_t hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                            hipStream_t stream) {
  return call(__func__, [&] { submit_to(stream, make_fill_2d(to, pitch, value, width, height)); });
}

}  // extern "C"
