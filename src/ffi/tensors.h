// From what Python passes to what the library takes.
#pragma once

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include <new>

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

/// A Python integer as an `int`. Throws `Error` (invalid_argument) for one that does not fit.
int to_int(const char* operation, const char* argument, std::int64_t value);

}  // namespace wavefire::bindings
