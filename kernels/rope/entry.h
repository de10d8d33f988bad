// What the source of a GPU kernel instantiates: `Entry<Teams>::run(p)`, with a block of `threads`
// threads for every token: its lanes share the angles, then the heads.
#pragma once

#include "rope/rotate.h"

WF_NAMESPACE_BEGIN(rope)

template <class Teams>
struct Entry {
  using Launch = rope::Launch;
  static constexpr int threads = Teams::threads;
  static_assert(Teams::teams == 1);

  WF_DEVICE static bool is_aligned(const Launch& p) {
    u64 all = 0;
    for (const Heads& g : p.group) {
      if (g.heads == 0) continue;
      const i64 strides =
          g.in_stride_token | g.in_stride_head | g.out_stride_token | g.out_stride_head;
      all |= reinterpret_cast<u64>(g.in) | reinterpret_cast<u64>(g.out) |
             static_cast<u64>(strides) * size_of(g.dtype);
    }
    // The angles' rows: frequencies, or cosines and sines.
    if (p.frequency != nullptr) {
      all |= reinterpret_cast<u64>(p.frequency) | reinterpret_cast<u64>(p.frequency_rest);
    } else {
      all |= reinterpret_cast<u64>(p.cos_sin) |
             static_cast<u64>(p.cos_sin_stride) * size_of(p.cos_sin_dtype);
    }
    return all % 16 == 0 && p.rotary_dim / 2 % 8 == 0;
  }
  WF_DEVICE static void run(const Launch& p) {
    WF_SHARED static Angles angles;
    tile::with_alignment(is_aligned(p), [&]<bool aligned>() {
      using Rows = typename Teams::template Rows<aligned>;
      Teams::for_row(p.tokens,
                     [&](i64 token) { rotate_tokens<Rows>(p, token, token + 1, angles); });
    });
  }
};

WF_NAMESPACE_END
