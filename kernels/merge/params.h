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

/// What a GPU kernel is given: states of many (token, head). Row r is (r / heads, r % heads).
struct Launch {
  States first;              // of row 0
  i64 v_stride_row[2] = {};  // by which v_stride and s_stride grow from token to token and head to
  i64 s_stride_row[2] = {};  // head
  const u8* mask = nullptr;  // [tokens]: 0 where only the first state counts; nullptr: all count
  i64 mask_stride = 0;
  i64 v_row[2] = {};  // bytes from token to token and head to head
  i64 s_row[2] = {};  // elements
  char* out = nullptr;
  i64 out_row[2] = {};   // bytes
  float* lse = nullptr;  // or nullptr: not wanted
  i64 lse_row[2] = {};   // elements
  i64 dim = 0;
  i64 heads = 1;
  i64 rows = 0;  // tokens * heads
};

}  // namespace wavefire::merge
