// Devices and contexts.
#include <cstdio>
#include <cstring>

#include "virtual/hip/device.h"
#include "virtual/hip/graph.h"
#include "virtual/hip/hip_api.h"
#include "virtual/hip/properties.h"
#include "virtual/hip/stream.h"

using namespace instinct::hip;

namespace {

constexpr int hip_version = 60'140'091;  // of ROCm 6.1, whose interface this is

// A context is a device; its handle is the ordinal, counted from 1.
hipCtx_t context_of(int ordinal) {
  return reinterpret_cast<hipCtx_t>(static_cast<std::uintptr_t>(ordinal) + 1);
}

void copy_text(char* to, int bytes, const char* text) {
  require(to && bytes > 0, "no place for the text");
  std::snprintf(to, static_cast<std::size_t>(bytes), "%s", text);
}

}  // namespace

extern "C" {

hipError_t hipInit(unsigned int flags) {
  return call(__func__, [&] {
    require(flags == 0, "flags are not zero");
    Runtime::get();
  });
}

hipError_t hipDriverGetVersion(int* version) {
  return call(__func__, [&] {
    require(version, "version is null");
    *version = hip_version;
  });
}

hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }

hipError_t hipGetDeviceCount(int* count) {
  return call(__func__, [&] {
    require(count, "count is null");
    *count = 0;
    *count = Runtime::get().device_count();
  });
}

hipError_t hipGetDevice(int* device) {
  return call(__func__, [&] {
    require(device, "device is null");
    *device = current_device().ordinal();
  });
}

hipError_t hipSetDevice(int device) {
  return call(__func__, [&] { Runtime::get().set_current(device); });
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return call(__func__, [&] {
    require(device, "device is null");
    *device = Runtime::get().device(ordinal).ordinal();
  });
}

hipError_t hipDeviceGetName(char* name, int bytes, hipDevice_t device) {
  return call(__func__, [&] {
    hipDeviceProp_t properties;
    fill_properties(Runtime::get().device(device), properties);
    copy_text(name, bytes, properties.name);
  });
}

hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  return call(__func__, [&] {
    require(uuid, "uuid is null");
    hipDeviceProp_t properties;
    fill_properties(Runtime::get().device(device), properties);
    *uuid = properties.uuid;
  });
}

hipError_t hipDeviceGetPCIBusId(char* id, int bytes, int device) {
  return call(__func__, [&] {
    char text[32];
    const int bus = attribute(Runtime::get().device(device), hipDeviceAttributePciBusId);
    std::snprintf(text, sizeof(text), "0000:%02x:00.0", static_cast<unsigned>(bus));
    copy_text(id, bytes, text);
  });
}

hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  return call(__func__, [&] {
    require(major && minor, "major or minor is null");
    Device& found = Runtime::get().device(device);
    *major = attribute(found, hipDeviceAttributeComputeCapabilityMajor);
    *minor = attribute(found, hipDeviceAttributeComputeCapabilityMinor);
  });
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  return call(__func__, [&] {
    require(bytes, "bytes is null");
    *bytes = Runtime::get().device(device).memory().capacity();
  });
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  return call(__func__, [&] {
    require(value, "value is null");
    *value = instinct::hip::attribute(Runtime::get().device(device), attribute);
  });
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device) {
  return call(__func__, [&] {
    require(properties, "properties is null");
    fill_properties(Runtime::get().device(device), *properties);
  });
}

hipError_t hipDeviceSynchronize(void) {
  return call(__func__, [&] { synchronize(current_device()); });
}

// Waits; what is allocated and loaded stays.
hipError_t hipDeviceReset(void) { return hipDeviceSynchronize(); }

hipError_t hipDeviceGetLimit(size_t* value, enum hipLimit_t limit) {
  return call(__func__, [&] {
    require(value, "value is null");
    switch (limit) {
      case hipLimitStackSize: *value = 131056; return;  // 8191 KiB of a wave, by 64 lanes
      case hipLimitPrintfFifoSize:
      case hipLimitMallocHeapSize: *value = 0; return;
    }
    throw Failure(hipErrorInvalidValue, "unknown limit");
  });
}

hipError_t hipDeviceSetLimit(enum hipLimit_t limit, size_t) {
  return call(__func__, [&] {
    require(limit == hipLimitStackSize, "this limit cannot be set", hipErrorNotSupported);
  });
}

hipError_t hipGetDeviceFlags(unsigned int* flags) {
  return call(__func__, [&] {
    require(flags, "flags is null");
    *flags = 0;
  });
}

hipError_t hipSetDeviceFlags(unsigned int) {
  return call(__func__, [&] { Runtime::get(); });
}

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return call(__func__, [&] {
    require(can, "can is null");
    *can = Runtime::get().device(device).ordinal() != Runtime::get().device(peer).ordinal();
  });
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return call(__func__, [&] {
    require(flags == 0, "flags are not zero");
    Device& other = Runtime::get().device(peer);
    require(&other != &current_device(), "a device is no peer of itself", hipErrorInvalidDevice);
    current_device().memory().set_peer(&other.memory(), true);
  });
}

hipError_t hipDeviceDisablePeerAccess(int peer) {
  return call(__func__, [&] {
    current_device().memory().set_peer(&Runtime::get().device(peer).memory(), false);
  });
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(__func__, [&] {
    if (least) *least = 1;
    if (greatest) *greatest = -1;
  });
}

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  return call(__func__, [&] {
    require(context, "context is null");
    *context = context_of(Runtime::get().device(device).ordinal());
  });
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return call(__func__, [&] { Runtime::get().device(device); });
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned int* flags, int* active) {
  return call(__func__, [&] {
    require(flags && active, "flags or active is null");
    Runtime::get().device(device);
    *flags = 0;
    *active = 1;
  });
}

hipError_t hipCtxGetCurrent(hipCtx_t* context) {
  return call(__func__, [&] {
    require(context, "context is null");
    *context = context_of(current_device().ordinal());
  });
}

hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return call(__func__, [&] {
    require(context, "context is null", hipErrorInvalidContext);
    Runtime::get().set_current(static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1);
  });
}

hipError_t hipCtxGetDevice(hipDevice_t* device) { return hipGetDevice(device); }

}  // extern "C"
