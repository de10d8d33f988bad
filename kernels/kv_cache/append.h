// Copies rows of new tokens to their pages.
#pragma once

#include "kv_cache/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(kv_cache)

struct Place {
  i64 page = -1;  // less than 0: nowhere
  i64 slot = 0;
};

WF_DEVICE Place place_of(const Tables& t, i64 token) {
  const auto at = [](const Ints& ints, i64 i) { return i64{ints.data[i * ints.stride]}; };
  const i64 request = at(t.batch_indices, token), position = at(t.positions, token);
  if (request < 0 || request >= t.requests || position < 0) return {};
  // Divisions of 32 bits: a GPU takes a hundred instructions for one of 64.
  const u32 slot = static_cast<u32>(position), size = static_cast<u32>(t.page_size);
  const i64 entry = at(t.indptr, request) + slot / size;
  if (entry >= at(t.indptr, request + 1) || entry < 0 || entry >= t.entries) return {};
  const i64 page = at(t.indices, entry);
  if (page >= t.pages) return {};
  return {page, slot % size};
}

template <class Rows>
WF_DEVICE void append_tokens(const AppendParams& p, i64 begin, i64 end) {
  for (i64 token = begin; token < end; ++token) {
    const Place place = place_of(p.tables, token);
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
