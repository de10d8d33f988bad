// The row kernels of one CPU level. Compiled once for every level with that level's flags.
#include "device/cpu/row_kernels.h"

#include WAVEFIRE_TILE_HEADER

#include "activation/gated.h"
#include "kv_cache/append.h"
#include "merge/merge.h"
#include "norm/norm.h"
#include "rope/rotate.h"
#include "sampling/sampling.h"
#include "tile/cpu/rows.h"

namespace wavefire::cpu {
namespace {

using Rows = tile::CpuRows;

void normalize(const norm::Params& p, i64 begin, i64 end) {
  tile::with_output_dtype(p.dtype, [&]<DType dtype>() {
    if (p.kind == norm::Kind::layer) return norm::layer_norm_rows<Rows, dtype>(p, begin, end);
    tile::with_output_dtype(p.weight_dtype, [&]<DType weight>() {
      norm::rms_norm_rows<Rows, dtype, weight>(p, begin, end);
    });
  });
}

void gated(const activation::Params& p, i64 begin, i64 end) {
  using activation::Kind;
  tile::with_output_dtype(p.dtype, [&]<DType dtype>() {
    switch (p.kind) {
      case Kind::silu: return activation::gated_rows<Rows, dtype, Kind::silu>(p, begin, end);
      case Kind::gelu: return activation::gated_rows<Rows, dtype, Kind::gelu>(p, begin, end);
      case Kind::gelu_tanh:
        return activation::gated_rows<Rows, dtype, Kind::gelu_tanh>(p, begin, end);
    }
  });
}

void rotate(const rope::Params& p, i64 begin, i64 end) {
  rope::Angles angles;
  rope::rotate_tokens<Rows>(p, begin, end, angles);
}

void append(const kv_cache::AppendParams& p, i64 begin, i64 end) {
  kv_cache::append_tokens<Rows>(p, begin, end);
}

float merge_row(const merge::RowTypes& types, const merge::States& states, char* out) {
  float lse = 0.f;
  tile::with_output_dtype(types.in, [&]<DType in>() {
    tile::with_output_dtype(types.out, [&]<DType out_dtype>() {
      lse = merge::merge_row<Rows, in, out_dtype>(states, types.dim, out);
    });
  });
  return lse;
}

bool sample(const sampling::Row& row, const sampling::Filter& filter,
            const math::Uniforms& uniforms, const sampling::Buffers& buffers, i64& token) {
  return sampling::sample_row<Rows>(row, filter, uniforms, buffers, token);
}

bool renormalize(const sampling::Row& row, const sampling::Filter& filter,
                 const sampling::Buffers& buffers, DType out_dtype, void* out) {
  return sampling::renormalize_row<Rows>(row, filter, buffers, out_dtype, out);
}

void softmax(const sampling::Row& row, const sampling::Buffers& buffers, float* out) {
  sampling::softmax_row<Rows>(row, buffers, out);
}

bool mask(const sampling::Row& row, i64 top_k, const sampling::Buffers& buffers, void* out) {
  return sampling::mask_row<Rows>(row, top_k, buffers, out);
}

}  // namespace

#define WF_JOIN(a, b) a##b
#define WF_TABLE(level) WF_JOIN(row_kernels_, level)
extern const RowKernels WF_TABLE(WAVEFIRE_TARGET) = {
    normalize, gated, rotate, append, merge_row, sample, renormalize, softmax, mask};

}  // namespace wavefire::cpu
