// Reading and writing storage types as elements, on every CPU level. Include after a level's vec.h.
#pragma once

#include "tile/element.h"
#include "wavefire/dtype.h"

WF_NAMESPACE_BEGIN(tile)

/// `vec_width` elements of `dtype` from `p` on, as float32.
template <DType dtype>
WF_DEVICE Vec load_as(const void* p) {
  if constexpr (dtype == DType::f32) {
    return ElementTraits<Vec>::load(static_cast<const float*>(p));
  } else if constexpr (dtype == DType::f16) {
    return load_f16(p);
  } else if constexpr (dtype == DType::bf16) {
    return load_bf16(p);
  } else {
    static_assert(is_float8(dtype));
    return load_float8<dtype>(p);
  }
}

/// Rounds to nearest even and writes `vec_width` elements.
template <DType dtype>
WF_DEVICE void store_as(void* p, Vec a) {
  if constexpr (dtype == DType::f32) {
    ElementTraits<Vec>::store(static_cast<float*>(p), a);
  } else if constexpr (dtype == DType::f16) {
    store_f16(p, a);
  } else {
    static_assert(dtype == DType::bf16);
    store_bf16(p, a);
  }
}

/// The same past the caches; `p` lies at a multiple of what is written.
template <DType dtype>
WF_DEVICE void stream_as(void* p, Vec a) {
  if constexpr (dtype == DType::f32) {
    stream_f32(p, a);
  } else if constexpr (dtype == DType::f16) {
    stream_f16(p, a);
  } else {
    static_assert(dtype == DType::bf16);
    stream_bf16(p, a);
  }
}

/// The first `count` elements, 0 <= count < vec_width; the rest of the result is zero. Reads no
/// byte beyond them.
template <DType dtype>
WF_DEVICE Vec load_first_as(const void* p, int count) {
  if constexpr (vec_width == 1) return ElementTraits<Vec>::splat(0.f);
  alignas(64) u8 bytes[vec_width * size_of(dtype)] = {};
  __builtin_memcpy(bytes, p, static_cast<u64>(count) * size_of(dtype));
  return load_as<dtype>(bytes);
}

template <DType dtype>
WF_DEVICE void store_first_as(void* p, Vec a, int count) {
  if constexpr (vec_width == 1) return;
  alignas(64) u8 bytes[vec_width * size_of(dtype)];
  store_as<dtype>(bytes, a);
  __builtin_memcpy(p, bytes, static_cast<u64>(count) * size_of(dtype));
}

/// Calls `f.template operator()<dtype>()` with the floating point type that `dtype` names.
template <class F>
WF_DEVICE void with_float_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f.template operator()<DType::f32>();
    case DType::f16: return f.template operator()<DType::f16>();
    case DType::bf16: return f.template operator()<DType::bf16>();
    case DType::e4m3fn: return f.template operator()<DType::e4m3fn>();
    case DType::e5m2: return f.template operator()<DType::e5m2>();
    case DType::e4m3fnuz: return f.template operator()<DType::e4m3fnuz>();
    case DType::e5m2fnuz: return f.template operator()<DType::e5m2fnuz>();
    default: return;
  }
}

/// The same for the types that results may have: float32, float16, bfloat16.
template <class F>
WF_DEVICE void with_output_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f.template operator()<DType::f32>();
    case DType::f16: return f.template operator()<DType::f16>();
    case DType::bf16: return f.template operator()<DType::bf16>();
    default: return;
  }
}

WF_NAMESPACE_END
