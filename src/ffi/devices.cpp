// Devices for Python.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/string.h>

#include "ffi/tensors.h"
#include "wavefire/device.h"

namespace wavefire::bindings {
namespace {

using tvm::ffi::Any;
using tvm::ffi::Array;
using tvm::ffi::String;

/// The members of DeviceInfo, in the order of Python's class.
Array<Any> fields_of(const DeviceInfo& info) {
  return {String(info.id),      String(info.name), String(info.architecture),
          info.multiprocessors, info.memory_bytes, String(to_string(info.tensors))};
}

Array<Array<Any>> devices_() {
  return guarded([] {
    Array<Array<Any>> list;
    for (const DeviceInfo& info : devices()) list.push_back(fields_of(info));
    return list;
  });
}

String why_no_driver_(String kind) {
  return guarded([&] { return String(why_no_driver(std::string(kind))); });
}

Array<Any> use_device_(String id) {
  return guarded([&] { return fields_of(use_device(std::string(id))); });
}

Array<Any> current_device_() {
  return guarded([] { return fields_of(current_device()); });
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(devices, devices_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(why_no_driver, why_no_driver_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(use_device, use_device_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(current_device, current_device_);

}  // namespace wavefire::bindings
