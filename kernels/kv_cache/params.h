// Parameters of appending to a paged KV cache. Strides are in bytes.
#pragma once

#include "tile/target.h"

namespace wavefire::kv_cache {

/// Where a token goes.
struct Place {
  i64 page = -1;  // less than 0: nowhere
  i64 slot = 0;
};

/// Keys or values: rows of `heads` heads, and the pages that they are copied to.
struct Side {
  const char* rows = nullptr;
  char* cache = nullptr;
  i64 row_token = 0, row_head = 0;
  i64 cache_page = 0, cache_slot = 0, cache_head = 0;
  i64 heads = 0;
  i64 bytes = 0;  // of one head
};

struct AppendParams {
  Side side[2];
  const Place* places = nullptr;  // [tokens]
  bool stream = false;            // more than the caches hold
};

/// What a GPU kernel is given.
struct AppendLaunch : AppendParams {
  i64 tokens = 0;
};

}  // namespace wavefire::kv_cache
