// The planner's core: from requests to a balanced work list. Integers only, nothing is allocated;
// the same code runs on the host and in a kernel, with equal results.
//
// A *unit* is one row tile of one KV head of one request with all keys that its rows can see. Units
// lie on a line, each as long as it costs, and the line is cut into equal lengths, one a worker. A
// cut that falls inside a unit splits its KV range at the nearest KV tile, so that no worker
// exceeds the mean by more than one tile, and at most workers - 1 cuts are made. Where workers
// should read the same keys at the same time (deal_first), units are dealt one by one to the least
// loaded worker: all of them if that balances as well as cuts would, else as long as the worker
// stays below the mean, and the rest of the line is cut to fill up all of them. Where units must
// not be split freely (allow_split, fixed_split_kv), items go longest first to the least loaded
// worker instead (Graham 1969).
#pragma once

#include "attention/mask.h"
#include "attention/problem.h"

WF_NAMESPACE_BEGIN(plan)

using attention::Join;
using attention::PlanTraits;
using attention::Request;
using attention::WorkItem;
using attention::WorkList;

enum class Status : i32 { ok, too_many_items, too_many_joins, too_many_partial_rows, not_proved };

/// How much the caller's arrays hold.
struct Capacity {
  i64 items = 0;
  i64 joins = 0;
  i64 partial_rows = 0;
};

struct Unit {
  i32 row_begin, row_count;
  i32 kv_begin, kv_end;
};

WF_BOTH i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
WF_BOTH i32 row_tiles(const PlanTraits& t, const Request& r) {
  return static_cast<i32>(ceil_div(i64{r.q_len} * t.group, t.tile_rows));
}

/// Row tile `tile` of a request and the union of the keys that its rows see.
WF_BOTH Unit unit_of(const PlanTraits& t, const Request& r, i32 tile) {
  const i64 rows = i64{r.q_len} * t.group;
  const i64 begin = i64{tile} * t.tile_rows;
  const i64 count = rows - begin < t.tile_rows ? rows - begin : t.tile_rows;
  const i32 first = static_cast<i32>(begin / t.group);
  const i32 last = static_cast<i32>((begin + count - 1) / t.group);
  const i32 low = attention::visible_keys(t, r, first).low;
  const i32 high = attention::visible_keys(t, r, last).high;
  return {static_cast<i32>(begin), static_cast<i32>(count), low, high > low ? high : low};
}

/// The heads of a request are on the line in groups, in each of which tile follows tile and a head
/// the other. A group is a head, or where units are dealt, as few as have two units for each
/// worker: long ones (of causal masks) come first, so that each group ends with short ones.
WF_BOTH i32 head_groups(const PlanTraits& t, i32 tiles) {
  if (t.deal_first == 0 || t.causal == 0) return t.num_kv_heads;
  const i64 groups = i64{tiles} * t.num_kv_heads / (2 * i64{t.workers});
  return static_cast<i32>(groups < 1 ? 1 : groups < t.num_kv_heads ? groups : t.num_kv_heads);
}
WF_BOTH i32 group_begin(const PlanTraits& t, i32 groups, i32 group) {
  if (groups == t.num_kv_heads) return group;  // without a division
  return static_cast<i32>(i64{group} * t.num_kv_heads / groups);
}
/// The group of a head: the last one that does not begin behind it.
WF_BOTH i32 group_of(const PlanTraits& t, i32 groups, i32 head) {
  return static_cast<i32>(((i64{head} + 1) * groups - 1) / t.num_kv_heads);
}

WF_BOTH i64 kv_tiles(const PlanTraits& t, i32 kv_begin, i32 kv_end) {
  return ceil_div(i64{kv_end} - kv_begin, t.tile_kv);
}
WF_BOTH i64 cost_of(const PlanTraits& t, i32 rows, i64 tiles) {
  return (tiles + t.item_overhead) * (rows + t.row_overhead);
}

/// Appends items and joins to the caller's arrays as long as they fit; counts what it would need.
struct Emitter {
  WorkList& list;
  Capacity capacity;
  i32* workers = nullptr;  // [items], who takes them; nullptr: not wanted
  i32 worker = 0;          // who takes the next items
  i64 items = 0, joins = 0, partial_rows = 0;

  WF_BOTH void item(const WorkItem& item) {
    if (items < capacity.items) {
      list.items[items] = item;
      if (workers != nullptr) workers[items] = worker;
    }
    ++items;
  }

  /// Cuts of one unit: `part` is called in order, `end_unit` when the unit is complete.
  WF_BOTH void part(i32 request, i32 head, const Unit& u, i32 from, i32 to) {
    const i64 first = items - parts;
    if (parts == 1 && first < capacity.items) {  // it turns out to be split
      list.items[first].partial = static_cast<i32>(partial_rows);
      list.items[first].join = static_cast<i32>(joins);
    }
    WorkItem work{request, head, u.row_begin, u.row_count, from, to, -1, -1};
    if (parts > 0) {
      work.partial = static_cast<i32>(partial_rows + parts * u.row_count);
      work.join = static_cast<i32>(joins);
    }
    item(work);
    ++parts;
  }
  WF_BOTH void end_unit(i32 request, i32 head, const Unit& u) {
    if (parts > 1) {
      if (joins < capacity.joins) {
        list.joins[joins] = {request,
                             head,
                             u.row_begin,
                             u.row_count,
                             static_cast<i32>(partial_rows),
                             static_cast<i32>(parts)};
      }
      ++joins;
      partial_rows += parts * u.row_count;
    }
    parts = 0;
  }

  WF_BOTH Status finish() {
    list.item_count = static_cast<i32>(items);
    list.join_count = static_cast<i32>(joins);
    list.partial_rows = partial_rows;
    if (items > capacity.items) return Status::too_many_items;
    if (joins > capacity.joins) return Status::too_many_joins;
    return partial_rows > capacity.partial_rows ? Status::too_many_partial_rows : Status::ok;
  }

  i64 parts = 0;  // of the unit at hand
};

WF_BOTH i64 total_cost(const PlanTraits& t, const Request* requests, i32 count) {
  i64 total = 0;
  for (i32 r = 0; r < count; ++r) {
    for (i32 tile = 0; tile < row_tiles(t, requests[r]); ++tile) {
      const Unit u = unit_of(t, requests[r], tile);
      total += cost_of(t, u.row_count, kv_tiles(t, u.kv_begin, u.kv_end));
    }
  }
  return total * t.num_kv_heads;
}

/// A place on the line of units; the head counts from the beginning of its group.
struct Place {
  i32 request = 0, group = 0, tile = 0, head = 0;
};

/// Calls f(request, head, unit) for the units from `place` on while it returns true; `place` is
/// then the unit for which it did not.
template <class F>
WF_BOTH void for_units(const PlanTraits& t, const Request* requests, i32 count, Place& place,
                       F&& f) {
  Place at = place;  // in registers
  for (; at.request < count; ++at.request, at.group = 0) {
    const Request& r = requests[at.request];
    const i32 tiles = row_tiles(t, r), groups = head_groups(t, tiles);
    for (; at.group < groups; ++at.group, at.tile = 0) {
      const i32 head = group_begin(t, groups, at.group);
      const i32 heads = group_begin(t, groups, at.group + 1) - head;
      for (; at.tile < tiles; ++at.tile, at.head = 0) {
        const Unit u = unit_of(t, r, t.deal_first != 0 ? tiles - 1 - at.tile : at.tile);
        for (; at.head < heads; ++at.head) {
          if (f(at.request, head + at.head, u)) continue;
          place = at;
          return;
        }
      }
    }
  }
  place = at;
}

/// Cuts the line of units from `place` on into parts; worker w takes a length of room(w), in all
/// that of the line. Calls begin_worker(w) before what w takes.
template <class Room, class Begin>
WF_BOTH void cut_line(const PlanTraits& t, const Request* requests, i32 count, Place place,
                      Emitter& emit, Room&& room, Begin&& begin_worker) {
  i32 worker = 0;          // that takes the next item
  i64 position = 0;        // of the unit's beginning on the line
  i64 boundary = room(0);  // end of the worker's part
  begin_worker(0);
  const auto next_worker = [&] {
    begin_worker(++worker);
    boundary += room(worker);
  };
  for_units(t, requests, count, place, [&](i32 request, i32 head, const Unit& u) {
    const i64 weight = u.row_count + t.row_overhead;
    const i64 length = kv_tiles(t, u.kv_begin, u.kv_end);
    const i64 cost = cost_of(t, u.row_count, length);
    i64 done = 0;  // KV tiles given out
    while (worker + 1 < t.workers && boundary < position + cost) {
      // The boundary falls behind `inside` KV tiles of this unit, to the nearest tile.
      const i64 inside = (boundary - position - t.item_overhead * weight + weight / 2) / weight;
      const i64 cut = inside < length ? inside : length;
      // Nearer to the unit's end: the next worker begins behind it.
      if (cut == length && (length > 0 || (boundary - position) * 2 >= cost)) break;
      if (cut > done) {
        emit.part(request, head, u, static_cast<i32>(u.kv_begin + done * t.tile_kv),
                  static_cast<i32>(u.kv_begin + cut * t.tile_kv));
        done = cut;
      }
      next_worker();
    }
    emit.part(request, head, u, static_cast<i32>(u.kv_begin + done * t.tile_kv), u.kv_end);
    emit.end_unit(request, head, u);
    position += cost;
    while (worker + 1 < t.workers && boundary <= position) next_worker();
    return true;
  });
  while (worker + 1 < t.workers) next_worker();
}

/// Cuts the line into equal parts.
WF_BOTH void cut_equally(const PlanTraits& t, const Request* requests, i32 count, Emitter& emit) {
  const i64 total = total_cost(t, requests, count);
  cut_line(
      t, requests, count, {}, emit,
      [&](i32 w) { return total / t.workers + (w < total % t.workers ? 1 : 0); },
      [&](i32 w) { emit.list.worker_begin[w] = static_cast<i32>(emit.items); });
  emit.list.worker_begin[t.workers] = static_cast<i32>(emit.items);
}

/// Units whole, or cut at the multiples of fixed_split_kv.
WF_BOTH void cut_fixed(const PlanTraits& t, const Request* requests, i32 count, Emitter& emit) {
  Place place;
  for_units(t, requests, count, place, [&](i32 request, i32 head, const Unit& u) {
    i64 from = u.kv_begin;
    if (t.fixed_split_kv > 0 && t.allow_split != 0) {
      for (i64 cut = (from / t.fixed_split_kv + 1) * t.fixed_split_kv; cut < u.kv_end;
           cut += t.fixed_split_kv) {
        emit.part(request, head, u, static_cast<i32>(from), static_cast<i32>(cut));
        from = cut;
      }
    }
    emit.part(request, head, u, static_cast<i32>(from), u.kv_end);
    emit.end_unit(request, head, u);
    return true;
  });
}

/// A binary heap over `size` positions by `before(a, b)`; moves position 0 down to its place.
template <class Before, class Swap>
WF_BOTH void sift_down(i32 at, i32 size, Before&& before, Swap&& swap) {
  for (;;) {
    const i32 left = 2 * at + 1;
    if (left >= size) return;
    const i32 child = left + 1 < size && before(left + 1, left) ? left + 1 : left;
    if (!before(child, at)) return;
    swap(at, child);
    at = child;
  }
}

/// Scratch of what deals items.
struct AssignScratch {
  WorkItem* items;  // [items]
  i32* order;       // [items]
  i32* worker;      // [items]
  i64* load;        // [workers]
  i32* heap;        // [workers]
};

/// The workers by their load, the least loaded first; ties go to the lower index.
struct Workers {
  const AssignScratch& scratch;
  i32 count;

  WF_BOTH Workers(const AssignScratch& s, i32 workers) : scratch(s), count(workers) {
    for (i32 w = 0; w < workers; ++w) {
      s.load[w] = 0;
      s.heap[w] = w;
    }
  }
  WF_BOTH i32 least() const { return scratch.heap[0]; }
  WF_BOTH void load_least(i64 cost) {
    const AssignScratch& s = scratch;
    s.load[least()] += cost;
    const auto lighter = [&](i32 a, i32 b) {
      const i64 la = s.load[s.heap[a]], lb = s.load[s.heap[b]];
      return la != lb ? la < lb : s.heap[a] < s.heap[b];
    };
    const auto swap = [&](i32 a, i32 b) {
      const i32 keep = s.heap[a];
      s.heap[a] = s.heap[b];
      s.heap[b] = keep;
    };
    sift_down(0, count, lighter, swap);
  }
};

/// Puts the items of each worker (`scratch.worker`) together, in the order in which they are.
WF_BOTH void group_by_worker(const PlanTraits& t, WorkList& list, const AssignScratch& s) {
  const i32 n = list.item_count;
  for (i32 w = 0; w <= t.workers; ++w) list.worker_begin[w] = 0;
  for (i32 i = 0; i < n; ++i) {
    ++list.worker_begin[s.worker[i] + 1];
    s.items[i] = list.items[i];
  }
  for (i32 w = 0; w < t.workers; ++w) {
    list.worker_begin[w + 1] += list.worker_begin[w];
    s.heap[w] = list.worker_begin[w];
  }
  for (i32 i = 0; i < n; ++i) list.items[s.heap[s.worker[i]]++] = s.items[i];
}

/// Gives the items, longest first, to the least loaded worker.
WF_BOTH void assign_longest_first(const PlanTraits& t, WorkList& list, const AssignScratch& s) {
  const i32 n = list.item_count;
  const auto cost = [&](i32 item) {
    const WorkItem& w = list.items[item];
    return cost_of(t, w.row_count, kv_tiles(t, w.kv_begin, w.kv_end));
  };
  for (i32 i = 0; i < n; ++i) s.order[i] = i;
  const auto swap_order = [&](i32 a, i32 b) {
    const i32 keep = s.order[a];
    s.order[a] = s.order[b];
    s.order[b] = keep;
  };
  // Heap sort with the shortest item on top leaves the longest first.
  const auto shorter = [&](i32 a, i32 b) {
    const i64 ca = cost(s.order[a]), cb = cost(s.order[b]);
    return ca != cb ? ca < cb : s.order[a] > s.order[b];
  };
  for (i32 i = n / 2 - 1; i >= 0; --i) sift_down(i, n, shorter, swap_order);
  for (i32 end = n - 1; end > 0; --end) {
    swap_order(0, end);
    sift_down(0, end, shorter, swap_order);
  }
  Workers workers(s, t.workers);
  for (i32 i = 0; i < n; ++i) {
    s.worker[s.order[i]] = workers.least();
    workers.load_least(cost(s.order[i]));
  }
  group_by_worker(t, list, s);
}

/// Deals units along the line to the least loaded worker while `deal(load, request, head, unit)` of
/// its load with the unit is true; `place` is then the first one that was not dealt.
template <class Deal>
WF_BOTH void deal_units(const PlanTraits& t, const Request* requests, i32 count, Place& place,
                        Workers& workers, Deal&& deal) {
  for_units(t, requests, count, place, [&](i32 request, i32 head, const Unit& u) {
    const i64 cost = cost_of(t, u.row_count, kv_tiles(t, u.kv_begin, u.kv_end));
    if (!deal(workers.scratch.load[workers.least()] + cost, request, head, u)) return false;
    workers.load_least(cost);
    return true;
  });
}

/// How far the longest worker may be beyond the mean where units stay whole: no further than what
/// cuts cost, which is some beginnings of items, partial results and their joins.
WF_BOTH i64 whole_slack(const PlanTraits& t, i64 mean) {
  const i64 cuts = i64{4} * t.item_overhead * (t.tile_rows + t.row_overhead);
  return cuts < mean / 16 ? cuts : mean / 16;
}

/// Deals whole units where that balances well enough; else while the workers stay within the mean,
/// and what is left of the line fills them up.
WF_BOTH void deal_and_fill(const PlanTraits& t, const Request* requests, i32 count, Emitter& emit,
                           const AssignScratch& s) {
  const i64 total = total_cost(t, requests, count), mean = total / t.workers;
  i64 most = mean + whole_slack(t, mean);
  {
    Workers workers(s, t.workers);
    Place place;
    deal_units(t, requests, count, place, workers,
               [&](i64 load, i32, i32, const Unit&) { return load <= most; });
    if (place.request < count) most = mean;
  }
  Workers workers(s, t.workers);
  Place place;
  deal_units(t, requests, count, place, workers,
             [&](i64 load, i32 request, i32 head, const Unit& u) {
               if (load > most) return false;
               emit.worker = workers.least();
               emit.part(request, head, u, u.kv_begin, u.kv_end);
               emit.end_unit(request, head, u);
               return true;
             });
  if (place.request == count) return;
  cut_line(
      t, requests, count, place, emit,
      [&](i32 w) { return total / t.workers + (w < total % t.workers ? 1 : 0) - s.load[w]; },
      [&](i32 w) { emit.worker = w; });
}

WF_BOTH bool cuts_line(const PlanTraits& t) { return t.allow_split != 0 && t.fixed_split_kv == 0; }
/// Items are then in the order of the line.
WF_BOTH bool only_cuts(const PlanTraits& t) { return cuts_line(t) && t.deal_first == 0; }

/// Makes the list in the caller's arrays. `scratch` is needed only where only_cuts() is false. On a
/// status other than ok the counts in `list` are what would have been needed.
WF_BOTH Status make_work_list(const PlanTraits& t, const Request* requests, i32 count,
                              const Capacity& capacity, const AssignScratch& scratch,
                              WorkList& list) {
  Emitter emit{list, capacity};
  if (only_cuts(t)) {
    cut_equally(t, requests, count, emit);
    return emit.finish();
  }
  if (cuts_line(t)) {
    emit.workers = scratch.worker;
    deal_and_fill(t, requests, count, emit, scratch);
    const Status status = emit.finish();
    if (status == Status::ok) group_by_worker(t, list, scratch);
    return status;
  }
  cut_fixed(t, requests, count, emit);
  const Status status = emit.finish();
  if (status == Status::ok) assign_longest_first(t, list, scratch);
  return status;
}

WF_NAMESPACE_END
