#include "wavefire/norm.h"

#include <cmath>

#include "core/check.h"
#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "ops/rows.h"

namespace wavefire {
namespace {

using core::check;

void check_rows(const char* operation, const char* argument, const TensorView& view) {
  check(operation, argument, view)
      .defined()
      .on_cpu()
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
  check(operation, argument, view)
      .defined()
      .on_cpu()
      .dtype(x.dtype)
      .last_dim_contiguous()
      .writable();
  core::require(ops::same_shape(view, x), operation, argument, view, "the shape of 'input'");
}

void launch(const char* operation, const TensorView& x, const TensorView* residual,
            const TensorView& weight, const TensorView& out, const RmsNormOptions& options) {
  check_rows(operation, "input", x);
  const std::int64_t width = x.shape[x.rank - 1];
  check(operation, "weight", weight)
      .defined()
      .on_cpu()
      .one_of({DType::f32, DType::f16, DType::bf16})
      .shape({width})
      .contiguous();
  check_like(operation, residual != nullptr ? "input" : "out", out, x);
  if (residual != nullptr) check_like(operation, "residual", *residual, x);
  core::require(std::isfinite(options.eps) && options.eps >= 0, operation, "eps", options.eps,
                "a finite number of 0 or more");
  if (x.size() == 0) return;
  norm::Params p;
  p.x = x.data;
  p.out = out.data;
  p.residual = residual != nullptr ? residual->data : nullptr;
  p.weight = weight.data;
  p.inner = x.shape[x.rank - 2];
  p.width = width;
  set_strides(x, p.x_stride);
  set_strides(out, p.out_stride);
  if (residual != nullptr) set_strides(*residual, p.residual_stride);
  p.dtype = x.dtype;
  p.weight_dtype = weight.dtype;
  p.eps = options.eps;
  p.weight_bias = options.weight_bias;
  const cpu::RowKernels& kernels = cpu::row_kernels();
  cpu::parallel_ranges(
      x.size() / width, ops::rows_per_task(width),
      [&](std::int64_t begin, std::int64_t end) { kernels.rms_norm(p, begin, end); });
}

}  // namespace

void rms_norm(const TensorView& x, const TensorView& weight, const TensorView& out,
              const RmsNormOptions& options) {
  launch("rmsnorm", x, nullptr, weight, out, options);
}

void fused_add_rms_norm(const TensorView& x, const TensorView& residual, const TensorView& weight,
                        const RmsNormOptions& options) {
  launch("fused_add_rmsnorm", x, &residual, weight, x, options);
}

}  // namespace wavefire
