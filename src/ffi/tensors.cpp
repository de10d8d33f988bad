#include "ffi/tensors.h"

#include <limits>
#include <string>

#include "core/check.h"

namespace wavefire::bindings {
namespace {

constexpr const char* operation = "tensor";

DType dtype_of(DLDataType type) {
  if (type.lanes == 1) {
    const auto is = [&](int code, int bits) { return type.code == code && type.bits == bits; };
    if (is(kDLFloat, 32)) return DType::f32;
    if (is(kDLFloat, 16)) return DType::f16;
    if (is(kDLBfloat, 16)) return DType::bf16;
    if (is(kDLFloat8_e4m3fn, 8)) return DType::e4m3fn;
    if (is(kDLFloat8_e5m2, 8)) return DType::e5m2;
    if (is(kDLFloat8_e4m3fnuz, 8)) return DType::e4m3fnuz;
    if (is(kDLFloat8_e5m2fnuz, 8)) return DType::e5m2fnuz;
    if (is(kDLInt, 32)) return DType::i32;
    if (is(kDLInt, 64)) return DType::i64;
    if (is(kDLUInt, 8)) return DType::u8;
    if (is(kDLBool, 8)) return DType::b1;
    if (is(kDLFloat, 64)) return DType::f64;
    if (is(kDLInt, 8)) return DType::i8;
    if (is(kDLInt, 16)) return DType::i16;
    if (is(kDLUInt, 16)) return DType::u16;
    if (is(kDLUInt, 32)) return DType::u32;
    if (is(kDLUInt, 64)) return DType::u64;
  }
  core::fail_argument(operation, "dtype",
                      core::join("DLPack code ", int{type.code}, " with ", int{type.bits}, " bits"),
                      "integers, bool, float64, float32, float16, bfloat16 and float8");
}

}  // namespace

Device device_of(DLDevice device) {
  switch (device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
    case kDLROCMHost: return {DeviceType::cpu, 0};
    case kDLCUDA: return {DeviceType::cuda, device.device_id};
    case kDLROCM: return {DeviceType::hip, device.device_id};
    default:
      core::fail_argument(operation, "device",
                          core::join("DLPack device type ", int{device.device_type}),
                          "cpu, cuda or hip");
  }
}

TensorView view_of(const Tensor& tensor) {
  core::require(tensor.ndim() <= max_rank, operation, "rank", tensor.ndim(), "0 to 6");
  TensorView view;
  view.data = static_cast<char*>(tensor.data_ptr()) + tensor.byte_offset();
  view.dtype = dtype_of(tensor.dtype());
  view.device = device_of(tensor.device());
  view.rank = tensor.ndim();
  for (int d = 0; d < view.rank; ++d) {
    view.shape[d] = tensor.size(d);
    view.strides[d] = tensor.stride(d);
  }
  return view;
}

int to_int(const char* operation, const char* argument, std::int64_t value) {
  const bool fits =
      value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
  core::require(fits, operation, argument, value, "a 32-bit integer");
  return static_cast<int>(value);
}

DType dtype_of(std::int64_t code) {
  core::require(code >= 0 && code < dtype_count, operation, "dtype", code, "a dtype code");
  return static_cast<DType>(code);
}

void rethrow(const Error& error) {
  const char* kind = "RuntimeError";
  switch (error.kind()) {
    case ErrorKind::invalid_argument: kind = "ValueError"; break;
    case ErrorKind::unsupported: kind = "NotImplementedError"; break;
    case ErrorKind::out_of_memory: kind = "MemoryError"; break;
    default: break;
  }
  throw tvm::ffi::Error(kind, error.what(), "");
}

}  // namespace wavefire::bindings
