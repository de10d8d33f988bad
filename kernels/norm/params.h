// Parameters of the normalisations. Strides are in elements.
#pragma once

#include "tile/target.h"
#include "wavefire/dtype.h"

namespace wavefire::norm {

enum class Kind : unsigned char { rms, layer };

struct Params {
  const void* x = nullptr;       // [outer, inner, width]
  void* out = nullptr;           // [outer, inner, width]
  void* residual = nullptr;      // like x, or nullptr: x + residual is normalised and stored here
  const void* weight = nullptr;  // [width]
  const void* bias = nullptr;    // [width] or nullptr: added at the end
  i64 inner = 1;                 // row r is (r / inner, r % inner)
  i64 width = 0;
  i64 x_stride[2] = {}, out_stride[2] = {}, residual_stride[2] = {};
  DType dtype = DType::f32;  // of x, out and residual
  DType weight_dtype = DType::f32;
  DType bias_dtype = DType::f32;
  Kind kind = Kind::rms;
  bool stream = false;  // the result is too large for the caches
  float eps = 1e-6f;
  float weight_bias = 0.f;  // 1 in Gemma's form, whose weights are stored less one
};

/// What a GPU kernel is given.
struct Launch : Params {
  i64 rows = 0;  // outer * inner
};

}  // namespace wavefire::norm
