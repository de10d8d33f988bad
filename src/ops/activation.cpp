#include "wavefire/activation.h"

#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "ops/launch.h"
#include "ops/rows.h"
#include "tune/rows.h"

namespace wavefire {
namespace {

/// The one stride of all rows, when the leading dimensions can be walked with one.
std::int64_t row_stride(const char* operation, const char* argument, const TensorView& view) {
  std::int64_t stride = 0, expected = -1;
  for (int d = view.rank - 2; d >= 0; --d) {
    if (view.shape[d] == 1) continue;
    if (expected < 0) {
      stride = view.strides[d];
    } else {
      core::require(view.strides[d] == expected, operation, argument, view,
                    "leading dimensions that lie at one stride");
    }
    expected = view.strides[d] * view.shape[d];
  }
  return stride;
}

}  // namespace

void gated_activation(GatedActivation kind, const TensorView& x, const TensorView& out) {
  static constexpr const char* names[] = {"silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul"};
  const char* operation = names[static_cast<int>(kind)];
  core::check(operation, "input", x)
      .defined()
      .one_of({DType::f32, DType::f16, DType::bf16})
      .last_dim_contiguous();
  core::require(x.rank >= 1 && x.shape[x.rank - 1] % 2 == 0, operation, "input", x,
                "an even last dimension (gate, then up)");
  core::check(operation, "out", out)
      .defined()
      .dtype(x.dtype)
      .rank(x.rank)
      .last_dim_contiguous()
      .writable();
  TensorView expected = x;
  expected.shape[x.rank - 1] /= 2;
  core::require(ops::same_shape(out, expected), operation, "out", out,
                "the shape of 'input' with half the last dimension");
  activation::Params p;
  p.x = x.data;
  p.out = out.data;
  p.width = out.shape[out.rank - 1];
  p.x_stride = row_stride(operation, "input", x);
  p.out_stride = row_stride(operation, "out", out);
  p.dtype = x.dtype;
  p.stream = ops::leaves_caches(out);
  p.kind = static_cast<activation::Kind>(kind);
  const ops::Place place = ops::place_of(operation, {{"input", x}, {"out", out}});
  if (out.size() == 0) return;
  const std::int64_t rows = out.size() / p.width;
  if (!place.on_cpu()) {
    const generate::ActivationConfig config{static_cast<generate::Activation>(kind), p.dtype,
                                            tune::activation_rows(p.width)};
    return ops::launch_rows(place, config, rows, activation::Launch{p, rows});
  }
  const cpu::RowKernels& kernels = cpu::row_kernels();
  cpu::parallel_ranges(rows, ops::rows_per_task(p.width),
                       [&](std::int64_t begin, std::int64_t end) { kernels.gated(p, begin, end); });
}

}  // namespace wavefire
