// Normalisation of rows, in float32:
//
//   RMSNorm     x / sqrt(mean(x^2) + eps) * (weight + weight_bias)
//   LayerNorm   (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias
//
// x [rows, width] or [batch, heads, width], any strides with a contiguous last dimension, float32,
// float16 or bfloat16; weight and bias [width] of any of them; out like x (may be x). The result is
// rounded once.
#pragma once

#include "wavefire/tensor_view.h"

namespace wavefire {

struct RmsNormOptions {
  float eps = 1e-6f;
  float weight_bias = 0.f;  // 1 for Gemma, whose weights are stored less one
};

/// Throws `Error`.
void rms_norm(const TensorView& x, const TensorView& weight, const TensorView& out,
              const RmsNormOptions& options = {});

/// In place: residual <- x + residual (rounded), x <- norm of the float32 sum (not of the rounded
/// one).
void fused_add_rms_norm(const TensorView& x, const TensorView& residual, const TensorView& weight,
                        const RmsNormOptions& options = {});

/// `bias` may be absent.
void layer_norm(const TensorView& x, const TensorView& weight, const TensorView& bias,
                const TensorView& out, float eps = 1e-6f);

}  // namespace wavefire
