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

void rotate(const rope::Params& p, i64 begin, i64 end) { rope::rotate_tokens<Rows>(p, begin, end); }

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

void widen(DType dtype, const void* from, i64 size, float* to) {
  tile::with_float_dtype(dtype, [&]<DType d>() {
    Rows::for_columns(size, [&](i64 column, int count) {
      Rows::store<DType::f32>(to, column, count, Rows::load<d>(from, column, count));
    });
  });
}

void narrow(DType dtype, const float* from, i64 size, void* to) {
  tile::with_output_dtype(dtype, [&]<DType d>() {
    Rows::for_columns(size, [&](i64 column, int count) {
      Rows::store<d>(to, column, count, Rows::load<DType::f32>(from, column, count));
    });
  });
}

float maximum(const float* row, i64 size) { return sampling::row_maximum<Rows>(row, size); }

double exponentials(const float* logits, i64 size, float top, float temperature, float* weights) {
  return sampling::exponentials<Rows>(logits, size, top, temperature, weights);
}

float filter_threshold(const float* weights, i64 size, double total, float top,
                       const sampling::Filter& filter, float* scratch,
                       sampling::Histogram& histogram) {
  return sampling::filter_threshold(weights, size, total, top, filter, scratch, histogram);
}

float select_threshold(const float* weights, i64 size, bool by_mass, i64 count, double mass,
                       float floor, float* scratch, sampling::Histogram& histogram) {
  return sampling::select_threshold(weights, size, by_mass, count, mass, floor, scratch, histogram);
}

double total(const float* weights, i64 size) { return sampling::total_weight(weights, size); }

i64 draw(const float* weights, i64 size, float threshold, float uniform) {
  return sampling::draw(weights, size, threshold, uniform);
}

}  // namespace

#define WF_JOIN(a, b) a##b
#define WF_TABLE(level) WF_JOIN(row_kernels_, level)
extern const RowKernels WF_TABLE(WAVEFIRE_TARGET) = {
    normalize, gated,        rotate,           append,           merge_row, widen, narrow,
    maximum,   exponentials, filter_threshold, select_threshold, total,     draw};

}  // namespace wavefire::cpu
