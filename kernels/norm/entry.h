// What the source of a GPU kernel instantiates: `Entry<Teams, kind, dtype, weight_dtype>::run(p)`,
// with a block of `threads` threads for every `Teams::teams` rows (tile/<arch>/rows.h).
#pragma once

#include "norm/norm.h"

WF_NAMESPACE_BEGIN(norm)

template <class Teams, Kind kind, DType dtype, DType weight_dtype>
struct Entry {
  using Launch = norm::Launch;
  static constexpr int threads = Teams::threads;

  WF_DEVICE static bool is_aligned(const Launch& p) {
    u64 all = reinterpret_cast<u64>(p.x) | reinterpret_cast<u64>(p.out) |
              reinterpret_cast<u64>(p.residual) | reinterpret_cast<u64>(p.weight) |
              reinterpret_cast<u64>(p.bias);
    const i64 strides = p.x_stride[0] | p.x_stride[1] | p.out_stride[0] | p.out_stride[1] |
                        p.residual_stride[0] | p.residual_stride[1];
    all |= static_cast<u64>(strides) * size_of(dtype);
    return all % 16 == 0 && p.width % 8 == 0 && Teams::fits(p.width);
  }
  WF_DEVICE static void run(const Launch& p) {
    tile::with_alignment(is_aligned(p), [&]<bool aligned>() {
      using Rows = typename Teams::template Rows<aligned>;
      Teams::for_row(p.rows, [&](i64 row) {
        if constexpr (kind == Kind::rms) {
          rms_norm_rows<Rows, dtype, weight_dtype>(p, row, row + 1);
        } else {
          layer_norm_rows<Rows, dtype>(p, row, row + 1);
        }
      });
    });
  }
};

WF_NAMESPACE_END
