// Gated activations: out = act(x[..., :width]) * x[..., width:].
#pragma once

#include "wavefire/tensor_view.h"

namespace wavefire {

enum class GatedActivation { silu, gelu, gelu_tanh };

/// x [..., 2 * width], out [..., width], same dtype (float32, float16 or bfloat16), rank 1 to 6,
/// any strides of the rows that a single row stride can express, contiguous last dimension.
void gated_activation(GatedActivation kind, const TensorView& x, const TensorView& out);

}  // namespace wavefire
