// From the tensors of a run to the kernel's parameters.
#pragma once

#include "attention/params.h"
#include "ops/attention_problem.h"
#include "ops/launch.h"

namespace wavefire::ops {

/// Checks the tensors of a run against the plan's options (completed) and batch, and fills in what
/// of `Params` comes from them. Throws `Error` (invalid_argument). Left to the plan: slopes and
/// rotary frequencies that nobody gave, the work list, partial results.
attention::Params read_tensors(const AttentionTensors& tensors, const AttentionOptions& options,
                               const AttentionBatch& batch);

/// Throws `Error` for what no kernel of a GPU takes: keys in two parts (unsupported), rows that do
/// not begin at multiples of 16 bytes (invalid_argument).
void require_gpu_tensors(const Place& place, const attention::Params& p);

}  // namespace wavefire::ops
