// What the source of a GPU kernel instantiates: `Entry<Teams, kind>::run(p)`, with a thread for
// each entry (tile/<arch>/rows.h, teams of one lane).
#pragma once

#include "index/index.h"

WF_NAMESPACE_BEGIN(index)

template <class Teams, Kind kind>
struct Entry {
  using Launch = index::Launch;
  static constexpr int threads = Teams::threads;

  WF_DEVICE static void run(const Launch& p) {
    Teams::for_row(p.count, [&](i64 i) {
      if constexpr (kind == Kind::rope_positions) rope_position(p, i);
      if constexpr (kind == Kind::batch_positions) batch_position(p, i);
      if constexpr (kind == Kind::sequence_lengths) sequence_length(p, i);
      if constexpr (kind == Kind::packed_indptr) packed_begin(p, i);
      if constexpr (kind == Kind::packbits) pack(p, i);
      if constexpr (kind == Kind::segment_packbits) pack_segment(p, i);
    });
  }
};

WF_NAMESPACE_END
