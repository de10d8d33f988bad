#include "wavefire/norm.h"

#include <cmath>

#include "core/check.h"
#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "ops/launch.h"
#include "ops/rows.h"
#include "tune/rows.h"

namespace wavefire {
namespace {

using core::check;

void check_rows(const char* operation, const char* argument, const TensorView& view) {
  check(operation, argument, view)
      .defined()
      .one_of({DType::f32, DType::f16, DType::bf16})
      .last_dim_contiguous();
  core::require(view.rank == 2 || view.rank == 3, operation, argument, view, "rank 2 or 3");
}

void set_strides(const TensorView& view, i64 (&stride)[2]) {
  stride[0] = view.rank == 3 ? view.strides[0] : 0;
  stride[1] = view.strides[view.rank - 2];
}

void check_like(const char* operation, const char* argument, const TensorView& view,
                const TensorView& x) {
  check(operation, argument, view).defined().dtype(x.dtype).last_dim_contiguous().writable();
  core::require(ops::same_shape(view, x), operation, argument, view, "the shape of 'input'");
}

void check_weight(const char* operation, const char* argument, const TensorView& view,
                  std::int64_t width) {
  check(operation, argument, view)
      .defined()
      .one_of({DType::f32, DType::f16, DType::bf16})
      .shape({width})
      .contiguous();
}

/// Checks and fills in what all norms share.
norm::Params read(const char* operation, const TensorView& x, const TensorView& weight,
                  const char* weight_name, const TensorView& out, float eps) {
  check_rows(operation, "input", x);
  const std::int64_t width = x.shape[x.rank - 1];
  check_weight(operation, weight_name, weight, width);
  check_like(operation, "out", out, x);
  core::require(std::isfinite(eps) && eps >= 0, operation, "eps", eps,
                "a finite number of 0 or more");
  norm::Params p;
  p.x = x.data;
  p.out = out.data;
  p.weight = weight.data;
  p.inner = x.shape[x.rank - 2];
  p.width = width;
  set_strides(x, p.x_stride);
  set_strides(out, p.out_stride);
  p.dtype = x.dtype;
  p.weight_dtype = weight.dtype;
  p.stream = ops::leaves_caches(out);
  p.eps = eps;
  return p;
}

void launch(const ops::Place& place, const norm::Params& p, const TensorView& x) {
  if (x.size() == 0) return;
  const std::int64_t rows = x.size() / p.width;
  if (!place.on_cpu()) {
    generate::NormConfig config{.kind = p.kind, .dtype = p.dtype, .rows = tune::norm_rows(p.width)};
    if (p.kind == norm::Kind::rms) config.weight_dtype = p.weight_dtype;
    return ops::launch_rows(place, config, rows, norm::Launch{p, rows});
  }
  const cpu::RowKernels& kernels = cpu::row_kernels();
  cpu::parallel_ranges(
      rows, ops::rows_per_task(p.width),
      [&](std::int64_t begin, std::int64_t end) { kernels.normalize(p, begin, end); });
}

}  // namespace

void rms_norm(const TensorView& x, const TensorView& weight, const TensorView& out,
              const RmsNormOptions& options) {
  constexpr const char* operation = "rmsnorm";
  norm::Params p = read(operation, x, weight, "weight", out, options.eps);
  p.weight_bias = options.weight_bias;
  launch(ops::place_of(operation, {{"input", x}, {"weight", weight}, {"out", out}}), p, x);
}

void fused_add_rms_norm(const TensorView& x, const TensorView& residual, const TensorView& weight,
                        const RmsNormOptions& options) {
  constexpr const char* operation = "fused_add_rmsnorm";
  norm::Params p = read(operation, x, weight, "weight", x, options.eps);
  check_like(operation, "residual", residual, x);
  p.residual = residual.data;
  set_strides(residual, p.residual_stride);
  p.weight_bias = options.weight_bias;
  launch(ops::place_of(operation, {{"input", x}, {"residual", residual}, {"weight", weight}}), p,
         x);
}

void layer_norm(const TensorView& x, const TensorView& weight, const TensorView& bias,
                const TensorView& out, float eps) {
  constexpr const char* operation = "layernorm";
  norm::Params p = read(operation, x, weight, "gamma", out, eps);
  if (bias.defined()) check_weight(operation, "beta", bias, p.width);
  p.kind = norm::Kind::layer;
  p.bias = bias.data;
  p.bias_dtype = bias.defined() ? bias.dtype : DType::f32;
  launch(ops::place_of(operation, {{"input", x}, {"gamma", weight}, {"beta", bias}, {"out", out}}),
         p, x);
}

}  // namespace wavefire
