// The row kernels of the CPU levels: one table a level, filled by row_kernels.cpp. Functions with
// `begin` and `end` work on that range of rows or tokens.
#pragma once

#include "activation/params.h"
#include "kv_cache/params.h"
#include "merge/params.h"
#include "norm/params.h"
#include "rope/params.h"
#include "sampling/params.h"

namespace wavefire::cpu {

struct RowKernels {
  void (*normalize)(const norm::Params& params, i64 begin, i64 end);
  void (*gated)(const activation::Params& params, i64 begin, i64 end);
  void (*rotate)(const rope::Params& params, i64 begin, i64 end);
  void (*append)(const kv_cache::AppendParams& params, i64 begin, i64 end);
  /// See kernels/merge/merge.h; returns the joint LSE.
  float (*merge_row)(const merge::RowTypes& types, const merge::States& states, char* out);

  // One row of a vocabulary; see kernels/sampling/sampling.h. False: the row is not valid.
  bool (*sample)(const sampling::Row& row, const sampling::Filter& filter,
                 const math::Uniforms& uniforms, const sampling::Buffers& buffers, i64& token);
  bool (*renormalize)(const sampling::Row& row, const sampling::Filter& filter,
                      const sampling::Buffers& buffers, DType out_dtype, void* out);
  void (*softmax)(const sampling::Row& row, const sampling::Buffers& buffers, float* out);
  bool (*mask)(const sampling::Row& row, i64 top_k, const sampling::Buffers& buffers, void* out);
};

extern const RowKernels row_kernels_scalar;
extern const RowKernels row_kernels_avx2;
extern const RowKernels row_kernels_avx512;

}  // namespace wavefire::cpu
