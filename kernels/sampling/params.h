// Parameters of choosing from a row of a vocabulary.
#pragma once

#include "math/philox.h"
#include "tile/target.h"
#include "wavefire/dtype.h"

namespace wavefire::sampling {

/// What restricts the choice. Every filter keeps all entries that tie with the last one it keeps.
struct Filter {
  i64 top_k = 0;             // the k largest; 0: all
  double top_p = 1;          // the fewest largest whose mass reaches top_p of the whole; 1: all
  float min_p = 0.f;         // those of at least min_p times the largest; 0: all
  bool top_k_first = false;  // top_p counts the mass that top_k has left, instead of the whole
  bool in_rounds = false;    // samples: drawn in rounds (sampling.h)
};

/// The least top_p, of samples of top_p alone, that draws in rounds: 1.7 are expected.
constexpr double least_in_rounds = 0.5;

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

// ---- what a GPU kernel is given

enum class Kind : unsigned char {
  softmax,
  draw,      // a token of all entries
  filtered,  // a token of those that the filters keep
  top_p,     // the same of top_p alone, in rounds
  renorm,
  mask,
};

/// A view of float32, int32 or int64 values.
struct Numbers {
  const void* data = nullptr;
  i64 stride = 1;
  DType dtype = DType::i64;
};

/// A parameter of all rows or, with `rows`, one of each.
struct RowNumber {
  double value = 0;
  Numbers rows = {};
};

/// Rows of `size` values, contiguous. Strides are in elements.
struct Matrix {
  void* data = nullptr;
  i64 stride = 0;
  DType dtype = DType::f32;
};

/// A number of Philox for each sample; see include/wavefire/sampling.h. Without data: `value`.
struct Key {
  u64 value = 0;
  Numbers samples = {};
  bool shared = false;  // one for all samples, in the GPU's memory
};

struct Launch {
  Matrix in;
  Matrix out;  // of softmax, renorm and mask
  i64 size = 0;
  i64 rows = 0;  // of `in`
  bool logits = false;
  bool top_k_first = false;
  /// Each sample has a top_p of its own: Kind::top_p takes those from least_in_rounds on, and
  /// Kind::filtered the others.
  bool by_top_p = false;
  RowNumber temperature{1};
  RowNumber top_k{0}, top_p{1}, min_p{0};
  Numbers indices;  // of the row of each sample; without data: one sample a row
  Key seed, offset;
  Matrix samples;  // int32 or int64; `stride` between them
  u8* valid = nullptr;
  i64 valid_stride = 1;
};

}  // namespace wavefire::sampling
