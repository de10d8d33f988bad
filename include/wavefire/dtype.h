// Element types. This header includes nothing, so that device compilers (NVRTC, hipRTC) take it
// too.
#pragma once

namespace wavefire {

enum class DType : unsigned char {
  f32,
  f16,
  bf16,
  e4m3fn,    // OCP fp8: no infinity, one NaN per sign
  e5m2,      // OCP fp8: IEEE-like, with infinities
  e4m3fnuz,  // fp8 of gfx942: exponent bias 8, no negative zero, 0x80 is NaN
  e5m2fnuz,  // fp8 of gfx942: exponent bias 16, no negative zero, 0x80 is NaN
  i32,
  i64,
  u8,
  b1,  // bool, one byte an element
  // Nothing computes with those below: they are moved, and named in messages.
  f64,
  i8,
  i16,
  u16,
  u32,
  u64,
};

inline constexpr int dtype_count = 17;

// What kernels call is always inlined: a copy compiled for one instruction set must not serve code
// for another.

/// Bytes of one element.
[[gnu::always_inline]] constexpr int size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
    case DType::u64: return 8;
    case DType::f32:
    case DType::i32:
    case DType::u32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return 2;
    default: return 1;
  }
}

[[gnu::always_inline]] constexpr bool is_float8(DType dtype) {
  return dtype == DType::e4m3fn || dtype == DType::e5m2 || dtype == DType::e4m3fnuz ||
         dtype == DType::e5m2fnuz;
}

[[gnu::always_inline]] constexpr bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 ||
         dtype == DType::f64 || is_float8(dtype);
}

/// The name that messages, logs and kernel specs use: "float32", "bfloat16", "float8_e4m3fn", ...
constexpr const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float32";
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::e4m3fn: return "float8_e4m3fn";
    case DType::e5m2: return "float8_e5m2";
    case DType::e4m3fnuz: return "float8_e4m3fnuz";
    case DType::e5m2fnuz: return "float8_e5m2fnuz";
    case DType::i32: return "int32";
    case DType::i64: return "int64";
    case DType::u8: return "uint8";
    case DType::b1: return "bool";
    case DType::f64: return "float64";
    case DType::i8: return "int8";
    case DType::i16: return "int16";
    case DType::u16: return "uint16";
    case DType::u32: return "uint32";
    case DType::u64: return "uint64";
  }
  return "unknown";
}

}  // namespace wavefire
