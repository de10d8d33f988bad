// Copies rows of new tokens to their pages.
#pragma once

#include "kv_cache/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(kv_cache)

template <class Rows>
WF_DEVICE void append_tokens(const AppendParams& p, i64 begin, i64 end) {
  for (i64 token = begin; token < end; ++token) {
    const Place place = p.places[token];
    if (place.page < 0) continue;
    for (const Side& side : p.side) {
      const char* from = side.rows + token * side.row_token;
      char* to = side.cache + place.page * side.cache_page + place.slot * side.cache_slot;
      for (i64 head = Rows::part(); head < side.heads; head += Rows::parts) {
        Rows::Part::copy(to + head * side.cache_head, from + head * side.row_head, side.bytes,
                         p.stream);
      }
    }
  }
  if (p.stream) Rows::finish_streaming();
}

WF_NAMESPACE_END
