// Parameters of sampling from one row of a vocabulary.
#pragma once

#include "tile/target.h"

namespace wavefire::sampling {

/// What restricts the choice. Every filter keeps all entries that tie with the last one it keeps.
struct Filter {
  i64 top_k = 0;             // the k largest; 0: all
  float top_p = 1.f;         // the fewest largest whose mass reaches top_p of the whole; 1: all
  float min_p = 0.f;         // those of at least min_p times the largest; 0: all
  bool top_k_first = false;  // top_p counts the mass that top_k has left, instead of the whole
};

/// The order of a radix selection: counts and masses of 2048 buckets.
struct Histogram {
  i32 count[2048];
  double mass[2048];
};

}  // namespace wavefire::sampling
