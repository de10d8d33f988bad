// Where the KV rows of one head of one request lie.
#pragma once

#include "attention/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(attention)

/// A row's page, as the table names it, and its slot in that page.
struct Place {
  i32 page;
  i32 slot;
};

/// Rows of one KV tensor for one (request, KV head). Row numbers are the request's KV tokens. What
/// the launch's parameters hold is read from them, so that a GPU keeps it in no register.
struct KvRows {
  const Params* params;
  const KvTensor* tensor;
  const char* base;  // of the head
  const i32* table;  // this request's page table, or nullptr: rows follow each other
  i32 last_entry;    // last entry of `table` that may be read
  i32 element_bytes;
  i32 first_row = 0;  // where rows follow each other: the row of the tensor that `base` is

  WF_DEVICE i64 token_bytes() const { return tensor->stride_token * element_bytes; }
  WF_DEVICE i64 page_bytes() const { return tensor->stride_page * element_bytes; }

  /// Indices outside of the table are clamped here, pages outside of the pool in `offset`, so that
  /// they cannot fault the process.
  WF_DEVICE Place place(i32 row) const {
    if (table == nullptr) return {0, row};
    // Unsigned: compilers need fewer instructions.
    const i32 entry = static_cast<i32>(static_cast<u32>(row) / static_cast<u32>(params->page_size));
    const i32 valid = tile::max(tile::min(entry, last_entry), 0);
    return {table[valid], row - entry * params->page_size};
  }
  WF_DEVICE i64 page_at(Place at) const {
    return tile::max(tile::min(i64{at.page}, params->num_pages - 1), i64{0});
  }
  /// Of a row from `base`, in bytes.
  WF_DEVICE i64 offset(Place at) const {
    const i64 in_page = at.slot * token_bytes();
    return table == nullptr ? in_page : page_at(at) * page_bytes() + in_page;
  }
  WF_DEVICE const void* address(i32 row) const { return base + offset(place(row)); }

  /// Calls f(i, address of row first + i) for i in [0, count), with one division in all.
  template <class F>
  WF_DEVICE void for_rows(i32 first, i32 count, F&& f) const {
    const i64 step = token_bytes();
    if (table == nullptr) {
      for (i32 i = 0; i < count; ++i) f(i, static_cast<const void*>(base + (first + i) * step));
      return;
    }
    i32 slot = first % params->page_size;
    i32 i = 0;
    while (i < count) {
      const char* page = base + page_at(place(first + i)) * page_bytes();
      const i32 end = tile::min(count, i + params->page_size - slot);
      for (; i < end; ++i, ++slot) f(i, static_cast<const void*>(page + slot * step));
      slot = 0;
    }
  }
};

/// The rows of a KV tile: one segment of columns, or two side by side where `max_segments` is 2.
template <int max_segments>
struct KvSource {
  static constexpr int most_segments = max_segments;
  using Place = attention::Place;
  KvRows segment[max_segments];
  i32 dims[max_segments];
  i32 segments;
  i32 kv_head;
  DType dtype;

  WF_DEVICE i32 columns() const {
    if constexpr (max_segments > 1) {
      if (segments > 1) return dims[0] + dims[1];
    }
    return dims[0];
  }
  /// The segment that holds `column`, which becomes the column in it.
  WF_DEVICE i32 segment_of(i32& column) const {
    if constexpr (max_segments > 1) {
      if (segments > 1 && column >= dims[0]) {
        column -= dims[0];
        return 1;
      }
    }
    return 0;
  }
};

/// The rows of K or of V, for lanes that load only one of them: its strides are at hand.
struct KvShare {
  struct Rows : KvRows {
    i64 bytes_of_token, bytes_of_page;

    WF_DEVICE i64 offset(Place at) const {
      const i64 in_page = at.slot * bytes_of_token;
      return table == nullptr ? in_page : page_at(at) * bytes_of_page + in_page;
    }
  };
  using Place = attention::Place;
  static constexpr int most_segments = 1;
  Rows segment[1];
  i32 dims;

  WF_DEVICE explicit KvShare() = default;
  WF_DEVICE explicit KvShare(const KvSource<1>& source)
      : segment{
            {source.segment[0], source.segment[0].token_bytes(), source.segment[0].page_bytes()}},
        dims(source.dims[0]) {}
  WF_DEVICE i32 columns() const { return dims; }
  WF_DEVICE i32 segment_of(i32&) const { return 0; }
  /// Row `first`, where those behind it follow and 64 of them span less than 4 GiB; else nullptr.
  WF_DEVICE const char* neighbours(i32 first) const {
    const Rows& rows = segment[0];
    const bool near = rows.table == nullptr && rows.bytes_of_token >> 26 == 0;
    return near ? rows.base + first * rows.bytes_of_token : nullptr;
  }
  WF_DEVICE u32 row_bytes() const { return static_cast<u32>(segment[0].bytes_of_token); }
};

WF_DEVICE KvRows kv_rows(const Params& p, const Request& request, const KvTensor& tensor,
                         i32 kv_head, i32 element_bytes) {
  // One aggregate for both kinds: of two, compilers for GPUs no longer see which memory `params`
  // is.
  const bool paged = p.page_table != nullptr;
  constexpr i64 most = 0x7fffffff;  // entries of a request
  i64 first = kv_head * tensor.stride_head;
  if (!paged) first += request.kv_begin * tensor.stride_token;
  return {&p,
          &tensor,
          static_cast<const char*>(tensor.data) + first * element_bytes,
          paged ? p.page_table + request.kv_begin : nullptr,
          paged ? static_cast<i32>(tile::min(p.page_table_size - request.kv_begin - 1, most)) : 0,
          element_bytes,
          paged ? 0 : static_cast<i32>(request.kv_begin)};
}

WF_NAMESPACE_END
