// Parameters of the gated activations. Strides are in elements.
#pragma once

#include "tile/target.h"
#include "wavefire/dtype.h"

namespace wavefire::activation {

enum class Kind : unsigned char { silu, gelu, gelu_tanh };

struct Params {
  const void* x = nullptr;  // [rows, 2 * width]: gate, then up
  void* out = nullptr;      // [rows, width]
  i64 width = 0;
  i64 x_stride = 0, out_stride = 0;  // of a row
  DType dtype = DType::f32;
  Kind kind = Kind::silu;
  bool stream = false;  // the result is too large for the caches
};

/// What a GPU kernel is given.
struct Launch : Params {
  i64 rows = 0;
};

}  // namespace wavefire::activation
