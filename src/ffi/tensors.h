// From what Python passes to what the library takes.
#pragma once

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include <new>

#include "wavefire/device.h"
#include "wavefire/error.h"
#include "wavefire/tensor_view.h"

namespace wavefire::bindings {

using tvm::ffi::Optional;
using Tensor = tvm::ffi::TensorView;
using MaybeTensor = Optional<tvm::ffi::Tensor>;

/// Throws `Error` (invalid_argument) for a dtype, device or rank that the library has no name for.
TensorView view_of(const Tensor& tensor);
inline TensorView view_of(const MaybeTensor& tensor) {
  if (!tensor.has_value()) return {};
  const tvm::ffi::Tensor held = tensor.value();
  return view_of(Tensor(held));
}

/// Throws `Error` (invalid_argument) for a type of device that the library has no name for.
Device device_of(DLDevice device);

/// The order of DType; Python's table is checked against `dtype_names` when the package is
/// imported.
DType dtype_of(std::int64_t code);

[[noreturn]] void rethrow(const Error& error);

/// Calls `f` with the library's errors turned into Python's exceptions.
template <class F>
auto guarded(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    rethrow(error);
  } catch (const std::bad_alloc&) {
    rethrow(Error(ErrorKind::out_of_memory, "wavefire: out of memory"));
  }
}

/// `guarded` on the stream that the framework of `x` puts its work on: tvm_ffi has asked for it. On
/// the CPU there is none, and nothing is asked.
template <class F>
auto guarded_on(const Tensor& x, F&& f) {
  const DLDevice device = x.device();
  if (device.device_type != kDLCUDA && device.device_type != kDLROCM) return guarded(f);
  return guarded([&] {
    const StreamScope scope(view_of(x).device,
                            TVMFFIEnvGetStream(device.device_type, device.device_id));
    return f();
  });
}

/// A Python integer as an `int`. Throws `Error` (invalid_argument) for one that does not fit.
int to_int(const char* operation, const char* argument, std::int64_t value);

}  // namespace wavefire::bindings
