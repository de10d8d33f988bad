// The attention problem and the work list: plain data shared by the planner, the fronts and the
// kernels of every machine. No functions, no namespace of a target: the same struct everywhere.
//
// Rows. A query head group (the `group` query heads that share one KV head) is packed into rows:
// packed row r of a request is query token r / group, query head kv_head * group + r % group.
#pragma once

#include "tile/target.h"

namespace wavefire::attention {

/// One request of a batch.
struct Request {
  i64 q_begin = 0;     // first query token, in tokens from the start of q
  i64 kv_begin = 0;    // ragged: first KV row; paged: first entry of the page table
  i64 mask_begin = 0;  // custom mask: first byte of this request's packed bits
  i32 q_len = 0;       // query tokens
  i32 kv_len = 0;      // KV tokens
};

/// Bundles. Where memory rewards reading neighbouring heads together, an item covers a bundle of
/// `Params::heads_per_item` KV heads and `kv_head` numbers bundles; the planner then sees
/// num_kv_heads / heads_per_item heads, and each partial row stands for one row of every head.
///
/// What a worker does in one go: all keys [kv_begin, kv_end) for `row_count` packed rows of one KV
/// head of one request. An empty KV range is an item too: it writes zeros and -inf.
struct WorkItem {
  i32 request = 0;
  i32 kv_head = 0;    // or bundle of KV heads
  i32 row_begin = 0;  // packed rows of the request
  i32 row_count = 0;
  i32 kv_begin = 0;  // KV tokens of the request
  i32 kv_end = 0;
  i32 partial = -1;  // first row of its partial result, or -1: the item writes the output itself
  i32 join = -1;     // index of the join it belongs to, or -1
};

/// Partial results that make one output: `parts` blocks of `row_count` rows from row `partial` on.
/// The last worker to arrive merges them, in the order of their KV ranges.
struct Join {
  i32 request = 0;
  i32 kv_head = 0;
  i32 row_begin = 0;
  i32 row_count = 0;
  i32 partial = 0;
  i32 parts = 0;
};

/// What of a problem decides how the work is cut. Lengths are per request.
///
/// The cost of an item is (KV tiles + item_overhead) * (rows + row_overhead): a tile costs its
/// rows' products and a part that does not depend on them (reading and placing K and V).
struct PlanTraits {
  i32 num_kv_heads = 1;    // or bundles of them
  i32 group = 1;           // query heads per KV head
  i32 tile_rows = 1;       // packed rows that one item covers at most
  i32 tile_kv = 1;         // KV rows of a tile
  i32 workers = 1;         // threads or blocks that execute the list
  i32 causal = 0;          // keep kv <= q + kv_len - q_len
  i64 window_left = -1;    // keep kv >= q + kv_len - q_len - window_left; -1: no bound
  i32 fixed_split_kv = 0;  // > 0: KV ranges are cut at its multiples and nowhere else
  i32 allow_split = 1;     // 0: never split a KV range
  i32 item_overhead = 1;   // of an item, in KV tiles
  i32 row_overhead = 0;    // of a KV tile, in rows
  i32 deal_first = 0;      // 1: workers take neighbouring units at a time, which share keys
};

/// The planner's answer. `worker_begin[w] .. worker_begin[w + 1]` are worker w's items.
/// The arrays belong to the caller, who also states their capacities.
struct WorkList {
  WorkItem* items = nullptr;
  i32* worker_begin = nullptr;  // [workers + 1]
  Join* joins = nullptr;
  i32 item_count = 0;
  i32 join_count = 0;
  i64 partial_rows = 0;  // rows of partial output that the list needs
};

}  // namespace wavefire::attention
