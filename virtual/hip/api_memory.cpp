// Allocation, and what is known of pointers.
#include <cstring>

#include "virtual/hip/device.h"
#include "virtual/hip/graph.h"
#include "virtual/hip/hip_api.h"
#include "virtual/hip/stream.h"

using namespace instinct;
using namespace instinct::hip;

namespace {

constexpr std::size_t pitch_alignment = 256;

u64 address_of(const void* pointer) { return reinterpret_cast<u64>(pointer); }

template <class Body>
void each_device(Body&& body) {
  for (int i = 0; i < Runtime::get().device_count(); ++i) body(Runtime::get().device(i));
}

void allocate(void** pointer, std::size_t bytes) {
  require(pointer, "pointer is null");
  *pointer = nullptr;
  if (bytes == 0) return;
  forbid_while_capturing();
  *pointer = reinterpret_cast<void*>(current_device().memory().allocate(bytes));
}

// Memory that the host writes too, so that nothing in it counts as undefined. All devices see it.
void allocate_host(void** pointer, std::size_t bytes) {
  require(pointer, "pointer is null");
  *pointer = nullptr;
  if (bytes == 0) return;
  forbid_while_capturing();
  Device& owner = current_device();
  const u64 address = owner.memory().allocate(bytes, Allocation::Kind::host);
  each_device([&](Device& device) {
    if (&device != &owner) device.memory().add(address, bytes, Allocation::Kind::host);
  });
  *pointer = reinterpret_cast<void*>(address);
}

Device& owner_of_allocation(u64 address) {
  Device* owner = nullptr;
  each_device([&](Device& device) {
    if (device.memory().owns(address)) owner = &device;
  });
  if (owner) return *owner;
  throw Failure(hipErrorInvalidValue,
                hex(address) + " is not the start of an allocation, or was freed before");
}

void release(void* pointer) {
  if (!pointer) return;
  const u64 address = address_of(pointer);
  const std::lock_guard lock(Runtime::get().work_mutex());  // two threads may free the same
  Device& owner = owner_of_allocation(address);
  forbid_while_capturing();
  owner.null_stream()->run_all();  // what was submitted may still use it
  for (const auto& stream : Runtime::get().streams.all()) stream->run_all();
  const bool shared = owner.memory().find(address)->kind == Allocation::Kind::host;
  owner.memory().free(address);
  if (!shared) return;
  each_device([&](Device& device) {
    if (&device != &owner) device.memory().remove(address);
  });
}

Allocation allocation_of(const void* pointer) {
  if (Device* device = Runtime::get().owner_of(address_of(pointer))) {
    return *device->memory().find(address_of(pointer));
  }
  throw Failure(hipErrorInvalidValue, "the pointer belongs to no allocation");
}

template <class T>
void write_as(void* data, T value) {
  std::memcpy(data, static_cast<const void*>(&value), sizeof(value));
}

void write_attribute(void* data, hipPointer_attribute attribute, const void* pointer) {
  const Allocation found = allocation_of(pointer);
  const bool host = found.kind == Allocation::Kind::host;
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write_as(data, host ? hipMemoryTypeHost : hipMemoryTypeDevice);
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER: return write_as(data, pointer);
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      require(host, "device memory has no pointer of the host");
      return write_as(data, pointer);
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID: return write_as(data, found.id);
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED: return write_as(data, 0);
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write_as(data, Runtime::get().owner_of(address_of(pointer))->ordinal());
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR: return write_as(data, found.base);
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE: return write_as(data, found.size);
    case HIP_POINTER_ATTRIBUTE_MAPPED: return write_as(data, 1);
    case HIP_POINTER_ATTRIBUTE_CONTEXT: break;
  }
  throw Failure(hipErrorNotSupported, "an attribute of pointers that is not known here");
}

}  // namespace

extern "C" {

hipError_t hipMalloc(void** pointer, size_t bytes) {
  return call(__func__, [&] { allocate(pointer, bytes); });
}

hipError_t hipExtMallocWithFlags(void** pointer, size_t bytes, unsigned int) {
  return call(__func__, [&] { allocate(pointer, bytes); });
}

hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned int) {
  return call(__func__, [&] { allocate_host(pointer, bytes); });
}

hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t stream) {
  return call(__func__, [&] {
    require(!stream_of(stream)->capture, "allocation in a capture", hipErrorNotSupported);
    allocate(pointer, bytes);
  });
}

hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return call(__func__, [&] {
    require(pitch, "pitch is null");
    *pitch = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
    require(*pitch >= width && (height == 0 || *pitch <= ~std::size_t{0} / height), "too large",
            hipErrorOutOfMemory);
    allocate(pointer, *pitch * height);
  });
}

hipError_t hipFree(void* pointer) {
  return call(__func__, [&] { release(pointer); });
}

hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  return call(__func__, [&] {
    const auto target = stream_of(stream);
    if (!pointer) return;
    Device& owner = owner_of_allocation(address_of(pointer));
    submit(*target, HostCall{[&owner, pointer] { owner.memory().free(address_of(pointer)); }});
  });
}

hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned int) {
  return call(__func__, [&] { allocate_host(pointer, bytes); });
}

hipError_t hipHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return hipHostMalloc(pointer, bytes, flags);
}

hipError_t hipMallocHost(void** pointer, size_t bytes) { return hipHostMalloc(pointer, bytes, 0); }
hipError_t hipHostFree(void* pointer) { return hipFree(pointer); }
hipError_t hipFreeHost(void* pointer) { return hipFree(pointer); }

hipError_t hipHostRegister(void* pointer, size_t bytes, unsigned int) {
  return call(__func__, [&] {
    require(pointer && bytes, "an empty range");
    try {
      each_device([&](Device& device) {
        device.memory().add(address_of(pointer), bytes, Allocation::Kind::host);
      });
    } catch (const Error& error) {
      throw Failure(hipErrorHostMemoryAlreadyRegistered, error.what());
    }
  });
}

hipError_t hipHostUnregister(void* pointer) {
  return call(__func__, [&] {
    require(pointer, "pointer is null");
    const u64 address = address_of(pointer);
    for (const auto& stream : Runtime::get().streams.all()) stream->run_all();
    each_device([&](Device& device) {
      device.null_stream()->run_all();
      const auto found = device.memory().find(address);
      if (!found || found->base != address || found->kind != Allocation::Kind::host ||
          device.memory().owns(address)) {
        throw Failure(hipErrorHostMemoryNotRegistered, "not registered");
      }
      device.memory().remove(address);
    });
  });
}

hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int) {
  return call(__func__, [&] {
    require(device_pointer, "device_pointer is null");
    allocation_of(host_pointer);
    *device_pointer = host_pointer;  // one space of addresses
  });
}

hipError_t hipHostGetFlags(unsigned int* flags, void* pointer) {
  return call(__func__, [&] {
    require(flags, "flags is null");
    require(allocation_of(pointer).kind == Allocation::Kind::host, "not host memory");
    *flags = 0;
  });
}

hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return call(__func__, [&] {
    require(free_bytes && total_bytes, "free_bytes or total_bytes is null");
    Memory& memory = current_device().memory();
    *total_bytes = memory.capacity();
    *free_bytes = memory.capacity() - memory.used();
  });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes, hipDeviceptr_t pointer) {
  return call(__func__, [&] {
    const Allocation found = allocation_of(pointer);
    if (base) *base = reinterpret_cast<void*>(found.base);
    if (bytes) *bytes = found.size;
  });
}

hipError_t hipMemPtrGetInfo(void* pointer, size_t* bytes) {
  return call(__func__, [&] {
    require(bytes, "bytes is null");
    *bytes = pointer ? allocation_of(pointer).size : 0;
  });
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  return call(__func__, [&] {
    require(attributes && pointer, "attributes or pointer is null");
    *attributes = {};
    attributes->device = -2;  // hipInvalidDeviceId
    attributes->hostPointer = const_cast<void*>(pointer);
    Device* device = Runtime::get().owner_of(address_of(pointer));
    if (!device) return;  // since ROCm 6: no error, hipMemoryTypeUnregistered
    const bool host = allocation_of(pointer).kind == Allocation::Kind::host;
    attributes->type = host ? hipMemoryTypeHost : hipMemoryTypeDevice;
    attributes->device = device->ordinal();
    attributes->devicePointer = const_cast<void*>(pointer);
    if (!host) attributes->hostPointer = nullptr;
  });
}

hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute attribute,
                                  hipDeviceptr_t pointer) {
  return call(__func__, [&] {
    require(data, "data is null");
    write_attribute(data, attribute, pointer);
  });
}

// Advice that changes nothing here: there is one memory.
hipError_t hipMemAdvise(const void* pointer, size_t, hipMemoryAdvise, int) {
  return call(__func__, [&] { allocation_of(pointer); });
}

hipError_t hipMemPrefetchAsync(const void* pointer, size_t, int, hipStream_t stream) {
  return call(__func__, [&] {
    allocation_of(pointer);
    stream_of(stream);
  });
}

}  // extern "C"
