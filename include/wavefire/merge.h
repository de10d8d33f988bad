// Joining attention over disjoint sets of keys. A state is (v, s): the output and its base-2 LSE.
// Exact for empty parts (s = -inf), whatever their v holds.
#pragma once

#include "wavefire/tensor_view.h"

namespace wavefire {

/// v_a, v_b, v [tokens, heads, head_dim] float32, float16 or bfloat16; s_a, s_b, s float32 [tokens,
/// heads]. v and s may be v_a and s_a. `mask` (optional, b1 or u8 [tokens]): where it is zero, v_b
/// does not count.
void merge_state(const TensorView& v_a, const TensorView& s_a, const TensorView& v_b,
                 const TensorView& s_b, const TensorView& v, const TensorView& s,
                 const TensorView& mask = {});

/// v [tokens, states, heads, head_dim], s [tokens, states, heads] to v_out, s_out without `states`.
void merge_states(const TensorView& v, const TensorView& s, const TensorView& v_out,
                  const TensorView& s_out);

}  // namespace wavefire
