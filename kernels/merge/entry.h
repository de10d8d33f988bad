// What the source of a GPU kernel instantiates: `Entry<Teams, dtype, out_dtype>::run(p)`, with a
// block of `threads` threads for every `Teams::teams` rows, each a (token, head).
#pragma once

#include "merge/merge.h"

WF_NAMESPACE_BEGIN(merge)

template <class Teams, DType dtype, DType out_dtype>
struct Entry {
  using Launch = merge::Launch;
  static constexpr int threads = Teams::threads;

  WF_DEVICE static bool is_aligned(const Launch& p) {
    const i64 bytes = p.first.v_stride | p.v_stride_row[0] | p.v_stride_row[1] | p.v_row[0] |
                      p.v_row[1] | p.out_row[0] | p.out_row[1];
    return (reinterpret_cast<u64>(p.first.v) | reinterpret_cast<u64>(p.out) |
            static_cast<u64>(bytes)) %
                   16 ==
               0 &&
           p.dim % 8 == 0;
  }
  WF_DEVICE static void run(const Launch& p) {
    tile::with_alignment(is_aligned(p), [&]<bool aligned>() {
      using Rows = typename Teams::template Rows<aligned>;
      Teams::for_row(p.rows, [&](i64 row) {
        const i64 token = row / p.heads, head = row % p.heads;
        States states = p.first;
        states.v += token * p.v_row[0] + head * p.v_row[1];
        states.s += token * p.s_row[0] + head * p.s_row[1];
        states.v_stride += token * p.v_stride_row[0] + head * p.v_stride_row[1];
        states.s_stride += token * p.s_stride_row[0] + head * p.s_stride_row[1];
        if (p.mask != nullptr && p.mask[token * p.mask_stride] == 0) states.count = 1;
        char* out = p.out + token * p.out_row[0] + head * p.out_row[1];
        const float lse = merge_row<Rows, dtype, out_dtype>(states, p.dim, out);
        if (p.lse == nullptr || Rows::lane() != 0) return;
        p.lse[token * p.lse_row[0] + head * p.lse_row[1]] = lse;
      });
    });
  }
};

WF_NAMESPACE_END
