// Parameters of choosing from a row of a vocabulary.
#pragma once

#include "tile/target.h"
#include "wavefire/dtype.h"

namespace wavefire::sampling {

/// What restricts the choice. Every filter keeps all entries that tie with the last one it keeps.
struct Filter {
  i64 top_k = 0;             // the k largest; 0: all
  double top_p = 1;          // the fewest largest whose mass reaches top_p of the whole; 1: all
  float min_p = 0.f;         // those of at least min_p times the largest; 0: all
  bool top_k_first = false;  // top_p counts the mass that top_k has left, instead of the whole
};

/// A row of weights (probabilities, or logits), contiguous.
struct Row {
  const void* data = nullptr;
  DType dtype = DType::f32;
  i64 size = 0;
  bool logits = false;
  float temperature = 1.f;  // of logits
};

/// Memory that a row needs besides itself.
constexpr i64 buffer_slack = 64;  // a whole element behind the end
struct Buffers {
  float* weights = nullptr;     // [size + buffer_slack]
  float* candidates = nullptr;  // [size + buffer_slack]
};

}  // namespace wavefire::sampling
