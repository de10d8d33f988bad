// Choosing tokens. See docs/conventions.md for how random numbers are keyed and ties are treated.
//
// Tensors are on one device. What parameters and rows hold on a GPU is not checked ahead, since
// that would wait for it: a row that the CPU makes an error of, for its weights or a parameter of
// its own, gets token 0 and valid = false, or is NaN throughout.
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
  RowParameter top_k{0, {}};  // keep the k largest, 1 or more; the value 0: no such filter
  RowParameter top_p{1, {}};  // keep the fewest largest whose mass reaches top_p, in (0, 1]
  RowParameter min_p{0, {}};  // keep those of at least min_p times the largest, in [0, 1]
  bool top_k_first = false;   // top_p counts the mass that top_k has left
};

/// probabilities float32 [rows, vocabulary] = softmax(logits / temperature). A row with NaN, +inf
/// or nothing but -inf is NaN throughout.
void softmax(const TensorView& logits, const RowParameter& temperature,
             const TensorView& probabilities);

/// What to choose from: weights [rows, vocabulary] (float32, float16 or bfloat16; non-negative
/// probabilities, or logits), contiguous last dimension.
struct SamplingInput {
  TensorView weights;
  bool logits = false;
  TensorView indices;  // i32 or i64 [samples], optional: sample i comes from row indices[i]
};

/// Sample i takes a number of Philox (with top_p alone, of 0.5 or more, one a round): key `seed`,
/// counter (offset, i). With `seeds` i64 [samples] the key is seeds[i] and the counter (offset, 0),
/// so that a request's tokens do not depend on its place in the batch. `offsets` i64 [samples],
/// optional, replaces `offset`. Each may have one entry for all samples instead, which is like
/// `seed` and `offset` (and stays on its device).
struct RandomNumbers {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  TensorView seeds{};
  TensorView offsets{};
};

/// samples i32 or i64 [samples], the same on every machine for the same random numbers. A row with
/// NaN, an infinite or negative weight, or without mass gets token 0 and valid = false (b1
/// [samples]); without `valid` it is on the CPU an `Error` that names the row, and no sample is
/// written.
void sample(const SamplingInput& input, const SamplingFilters& filters, const RandomNumbers& random,
            const TensorView& samples, const TensorView& valid = {});

/// out = probabilities that the filters keep, renormalised to 1, others 0; dtypes may differ. A row
/// that `sample` would not take is an `Error` that names it; that row of `out` stays as it was, the
/// others are written.
void renormalize(const TensorView& probabilities, const SamplingFilters& filters,
                 const TensorView& out);

/// out = the top_k largest logits, others -inf. Ties with the last one stay. A row with NaN is an
/// `Error`, as in `renormalize`.
void mask_logits(const TensorView& logits, const RowParameter& top_k, const TensorView& out);

}  // namespace wavefire
