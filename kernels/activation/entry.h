// What the source of a GPU kernel instantiates: `Entry<Teams, kind, dtype>::run(p)`, with a block
// of `threads` threads for every `Teams::teams` rows (tile/<arch>/rows.h).
#pragma once

#include "activation/gated.h"

WF_NAMESPACE_BEGIN(activation)

template <class Teams, Kind kind, DType dtype>
struct Entry {
  using Launch = activation::Launch;
  static constexpr int threads = Teams::threads;

  WF_DEVICE static bool is_aligned(const Launch& p) {
    const u64 strides = static_cast<u64>(p.x_stride | p.out_stride) * size_of(dtype);
    return (reinterpret_cast<u64>(p.x) | reinterpret_cast<u64>(p.out) | strides) % 16 == 0 &&
           p.width % 8 == 0;
  }
  WF_DEVICE static void run(const Launch& p) {
    tile::with_alignment(is_aligned(p), [&]<bool aligned>() {
      using Rows = typename Teams::template Rows<aligned>;
      Teams::for_row(p.rows, [&](i64 row) { gated_rows<Rows, dtype, kind>(p, row, row + 1); });
    });
  }
};

WF_NAMESPACE_END
