// Parameters of appending to a paged KV cache. Strides are in bytes.
#pragma once

#include "tile/target.h"

namespace wavefire::kv_cache {

/// A view of int32 values.
struct Ints {
  const i32* data = nullptr;
  i64 stride = 1;
};

/// Where tokens go: token i to position positions[i] of request batch_indices[i]. Those that the
/// tables give no place (no such request, position, page) are skipped.
struct Tables {
  Ints batch_indices;  // [tokens]; less than 0: padding
  Ints positions;      // [tokens]
  Ints indptr;         // [requests + 1]
  Ints indices;        // [entries]
  i64 requests = 0;
  i64 entries = 0;
  i64 pages = 0;  // of the cache
  i32 page_size = 1;
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
  Tables tables;
  bool stream = false;  // more than the caches hold
};

/// What a GPU kernel is given.
struct AppendLaunch : AppendParams {
  i64 tokens = 0;
};

}  // namespace wavefire::kv_cache
