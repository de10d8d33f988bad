// RMS normalisation of rows: x / sqrt(mean(x^2) + eps) * (weight + weight_bias), in float32.
#pragma once

#include "wavefire/tensor_view.h"

namespace wavefire {

struct RmsNormOptions {
  float eps = 1e-6f;
  float weight_bias = 0.f;  // 1 for Gemma, whose weights are stored less one
};

/// x [rows, width] or [batch, heads, width], any strides with a contiguous last dimension, float32,
/// float16 or bfloat16; weight [width] of any of them; out like x (may be x). Throws `Error`.
void rms_norm(const TensorView& x, const TensorView& weight, const TensorView& out,
              const RmsNormOptions& options = {});

/// In place: residual <- x + residual (rounded), x <- norm of the float32 sum. Shapes as above.
void fused_add_rms_norm(const TensorView& x, const TensorView& residual, const TensorView& weight,
                        const RmsNormOptions& options = {});

}  // namespace wavefire
