// Choosing tokens. See docs/conventions.md for how random numbers are keyed and ties are treated.
#pragma once

#include <cstdint>

#include "wavefire/tensor_view.h"

namespace wavefire {

/// A parameter that is the same for all rows, or a tensor [rows] with one value each (float32 for
/// temperature, top_p and min_p; i32 or i64 for top_k).
struct RowParameter {
  double value = 0;
  TensorView rows;
};

struct SamplingFilters {
  RowParameter top_k{0, {}};  // keep the k largest; 0: all
  RowParameter top_p{1, {}};  // keep the fewest largest whose mass reaches top_p, in (0, 1]
  RowParameter min_p{0, {}};  // keep those of at least min_p times the largest, in [0, 1]
  bool top_k_first = false;   // top_p counts the mass that top_k has left
};

/// probabilities float32 [rows, vocabulary] = softmax(logits / temperature).
void softmax(const TensorView& logits, const RowParameter& temperature,
             const TensorView& probabilities);

/// What to choose from: weights [rows, vocabulary] (float32, float16 or bfloat16; non-negative
/// probabilities, or logits), contiguous last dimension.
struct SamplingInput {
  TensorView weights;
  bool logits = false;
  TensorView indices;  // i32 or i64 [samples], optional: sample i comes from row indices[i]
};

/// samples i32 or i64 [samples]. Sample i uses one uniform of Philox, keyed by seed and (offset,
/// i): the same on every machine. A row with NaN, an infinite or negative weight, or without mass
/// gets token 0 and valid = false (b1 [samples]); without `valid` it is an `Error` that names the
/// row, and no sample is written.
void sample(const SamplingInput& input, const SamplingFilters& filters, std::uint64_t seed,
            std::uint64_t offset, const TensorView& samples, const TensorView& valid = {});

/// out = probabilities that the filters keep, renormalised to 1, others 0; dtypes may differ.
void renormalize(const TensorView& probabilities, const SamplingFilters& filters,
                 const TensorView& out);

/// out = the top_k largest logits, others -inf. Ties with the last one stay.
void mask_logits(const TensorView& logits, const RowParameter& top_k, const TensorView& out);

}  // namespace wavefire
