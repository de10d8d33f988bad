// Rotary position embedding of queries and keys.
#pragma once

#include "wavefire/attention.h"

namespace wavefire {

struct RopeOptions {
  int rotary_dim = 0;        // even; 0: the whole head; the dims behind it are copied
  bool interleaved = false;  // pairs (2i, 2i + 1) instead of (i, i + rotary_dim / 2)
  RopeParameters frequencies{};
};

/// q, q_out [tokens, q_heads, head_dim]; k, k_out [tokens, k_heads, head_dim]; outputs may be the
/// inputs; k may be absent. positions i32 or i64 [tokens], 0 to 2^24 - 1 (less for frequencies
/// above 1); what they hold on a GPU is not checked but clamped.
void apply_rope(const TensorView& q, const TensorView& k, const TensorView& positions,
                const TensorView& q_out, const TensorView& k_out, const RopeOptions& options);

/// The same with angles from a table: cos_sin [max_position, rotary_dim], float32, float16 or
/// bfloat16, cosines in the first half of a row, sines in the second. `options.frequencies` is not
/// used.
void apply_rope_with_cache(const TensorView& q, const TensorView& k, const TensorView& positions,
                           const TensorView& cos_sin, const TensorView& q_out,
                           const TensorView& k_out, const RopeOptions& options);

/// positions [indptr[batch]] i32 of tokens in requests that begin at offsets[b] (i32 or i64, 0 or
/// more): offsets[b] + i. On a GPU what they hold is not checked; a token of no request gets 0.
void rope_positions(const TensorView& indptr, const TensorView& offsets,
                    const TensorView& positions);

}  // namespace wavefire
