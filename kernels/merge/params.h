// Parameters of merging attention states.
#pragma once

#include "tile/target.h"
#include "wavefire/dtype.h"

namespace wavefire::merge {

/// The states of one (token, head): rows of values and their base-2 LSEs.
struct States {
  const char* v = nullptr;
  i64 v_stride = 0;  // bytes from state to state
  const float* s = nullptr;
  i64 s_stride = 0;
  i64 count = 0;
};

struct RowTypes {
  DType in = DType::f32;
  DType out = DType::f32;
  i64 dim = 0;
};

}  // namespace wavefire::merge
