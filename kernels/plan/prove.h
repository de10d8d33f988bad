// The proof that ends every plan: each (packed row, visible key) pair of each head was given out
// exactly once. Linear in the list where the line was cut, O(n log n) where items were dealt.
#pragma once

#include "plan/work_list.h"

WF_NAMESPACE_BEGIN(plan)

/// The items in the planner's order, as indices into `list.items`: those of a cut line are in it;
/// dealt ones come back by their place on it.
WF_BOTH void order_items(const PlanTraits& t, const Request* requests, const WorkList& list,
                         i32* sorted) {
  const i32 n = list.item_count;
  const auto before = [&](i32 a, i32 b) {
    const WorkItem &x = list.items[a], &y = list.items[b];
    if (x.request != y.request) return x.request < y.request;
    const i32 groups = head_groups(t, row_tiles(t, requests[x.request]));
    const i32 gx = group_of(t, groups, x.kv_head), gy = group_of(t, groups, y.kv_head);
    if (gx != gy) return gx < gy;
    if (x.row_begin != y.row_begin) return (x.row_begin < y.row_begin) == (t.deal_first == 0);
    if (x.kv_head != y.kv_head) return x.kv_head < y.kv_head;
    return x.kv_begin != y.kv_begin ? x.kv_begin < y.kv_begin : x.kv_end < y.kv_end;
  };
  for (i32 i = 0; i < n; ++i) sorted[i] = i;
  if (only_cuts(t)) return;
  const auto later = [&](i32 a, i32 b) { return before(sorted[b], sorted[a]); };
  const auto swap = [&](i32 a, i32 b) {
    const i32 keep = sorted[a];
    sorted[a] = sorted[b];
    sorted[b] = keep;
  };
  for (i32 i = n / 2 - 1; i >= 0; --i) sift_down(i, n, later, swap);
  for (i32 end = n - 1; end > 0; --end) {
    swap(0, end);
    sift_down(0, end, later, swap);
  }
}

/// Walks over the units in the planner's order and over the items of each unit in the order of
/// their keys. `sorted` [item_count] is scratch.
///
/// Proved: every unit is covered by items whose KV ranges follow each other without gap or overlap
/// from its first visible key to its last; split units have a join with as many parts, whose
/// partial rows lie one after the other and overlap no other join's; every item belongs to one
/// worker.
WF_BOTH bool prove(const PlanTraits& t, const Request* requests, i32 count, const WorkList& list,
                   i32* sorted) {
  const i32 n = list.item_count;
  if (list.worker_begin[0] != 0 || list.worker_begin[t.workers] != n) return false;
  for (i32 w = 0; w < t.workers; ++w) {
    if (list.worker_begin[w] > list.worker_begin[w + 1]) return false;
  }
  order_items(t, requests, list, sorted);
  i32 at = 0, joins = 0;
  i64 partial = 0;
  Place place;
  for_units(t, requests, count, place, [&](i32 request, i32 head, const Unit& u) {
    i32 key = u.kv_begin, parts = 0;
    do {
      if (at >= n) return false;
      const WorkItem& w = list.items[sorted[at]];
      if (w.request != request || w.kv_head != head || w.row_begin != u.row_begin ||
          w.row_count != u.row_count || w.kv_begin != key || w.kv_end < key ||
          w.kv_end > u.kv_end || (w.kv_end == key && u.kv_end > u.kv_begin)) {
        return false;
      }
      const bool split = parts > 0 || w.kv_end < u.kv_end;
      if (split ? w.join != joins || w.partial != partial + i64{parts} * u.row_count
                : w.join != -1 || w.partial != -1) {
        return false;
      }
      key = w.kv_end;
      ++parts;
      ++at;
    } while (key < u.kv_end);
    if (parts == 1) return true;
    if (joins >= list.join_count) return false;
    const Join& j = list.joins[joins];
    if (j.request != request || j.kv_head != head || j.row_begin != u.row_begin ||
        j.row_count != u.row_count || j.partial != partial || j.parts != parts) {
      return false;
    }
    partial += i64{parts} * u.row_count;
    ++joins;
    return true;
  });
  return place.request == count && at == n && joins == list.join_count &&
         partial == list.partial_rows;
}

WF_NAMESPACE_END
