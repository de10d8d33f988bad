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

  // Conversions between a floating point dtype (float8 only as a source) and float32.
  void (*widen)(DType dtype, const void* from, i64 size, float* to);
  void (*narrow)(DType dtype, const float* from, i64 size, void* to);

  // Sampling; see kernels/sampling/sampling.h.
  float (*maximum)(const float* row, i64 size);
  double (*exponentials)(const float* logits, i64 size, float maximum, float temperature,
                         float* weights);
  float (*filter_threshold)(const float* weights, i64 size, double total, float maximum,
                            const sampling::Filter& filter, float* scratch,
                            sampling::Histogram& histogram);
  float (*select_threshold)(const float* weights, i64 size, bool by_mass, i64 count, double mass,
                            float floor, float* scratch, sampling::Histogram& histogram);
  double (*total)(const float* weights, i64 size);
  i64 (*draw)(const float* weights, i64 size, float threshold, float uniform);
};

extern const RowKernels row_kernels_scalar;
extern const RowKernels row_kernels_avx2;
extern const RowKernels row_kernels_avx512;

}  // namespace wavefire::cpu
