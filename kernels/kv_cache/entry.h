// What the source of a GPU kernel instantiates: `AppendEntry<Teams>::run(p)`, with a block of
// `threads` threads for every `Teams::teams` tokens. The parts of a team take heads.
#pragma once

#include "kv_cache/append.h"

WF_NAMESPACE_BEGIN(kv_cache)

template <class Teams>
struct AppendEntry {
  using Launch = AppendLaunch;
  static constexpr int threads = Teams::threads;

  WF_DEVICE static bool is_aligned(const Launch& p) {
    u64 all = 0;
    for (const Side& s : p.side) {
      all |= reinterpret_cast<u64>(s.rows) | reinterpret_cast<u64>(s.cache);
      all |=
          static_cast<u64>(s.row_token | s.row_head | s.cache_page | s.cache_slot | s.cache_head);
    }
    return all % 16 == 0;
  }
  WF_DEVICE static void run(const Launch& p) {
    tile::with_alignment(is_aligned(p), [&]<bool aligned>() {
      using Rows = typename Teams::template Rows<aligned>;
      Teams::for_row(p.tokens, [&](i64 token) { append_tokens<Rows>(p, token, token + 1); });
    });
  }
};

WF_NAMESPACE_END
