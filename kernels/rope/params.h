// Parameters of rotary position embedding. Strides are in elements.
#pragma once

#include "tile/target.h"
#include "wavefire/dtype.h"

namespace wavefire::rope {

/// Heads that are rotated alike: queries or keys.
struct Heads {
  const void* in = nullptr;  // [tokens, heads, head_dim]
  void* out = nullptr;       // [tokens, heads, head_dim], may be `in`
  i64 in_stride_token = 0, in_stride_head = 0;
  i64 out_stride_token = 0, out_stride_head = 0;
  i32 heads = 0;
  DType dtype = DType::f32;
};

struct Params {
  Heads group[2];
  i32 head_dim = 0;
  i32 rotary_dim = 0;               // even; the dims behind it are copied
  bool interleaved = false;         // pairs (2i, 2i + 1) instead of (i, i + rotary_dim / 2)
  const void* positions = nullptr;  // [tokens], i32 or i64; those outside of the limit are clamped
  i64 position_stride = 1;
  i64 position_limit = i64{1} << 62;
  DType position_dtype = DType::i64;
  // [rotary_dim / 2] radians a position, as a float32 and what that leaves of it; nullptr: use the
  // cache.
  const float* frequency = nullptr;
  const float* frequency_rest = nullptr;
  const void* cos_sin = nullptr;  // [positions, rotary_dim]: cosines, then sines
  i64 cos_sin_stride = 0;
  DType cos_sin_dtype = DType::f32;
};

/// What a GPU kernel is given.
struct Launch : Params {
  i64 tokens = 0;
};

inline constexpr i32 max_head_dim = 1024;

}  // namespace wavefire::rope
