// Where the KV rows of one head of one request lie.
#pragma once

#include "attention/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(attention)

/// Rows of one KV tensor for one (request, KV head). Row numbers are the request's KV tokens.
struct KvRows {
  const char* base;  // of the head
  const i32* table;  // this request's page table, or nullptr: rows follow each other
  i64 last_entry;    // last entry of `table` that may be read
  i64 last_page;
  i64 page_bytes, token_bytes;
  i32 page_size;

  /// The page that holds `row`. Indices outside of the table or the pool are clamped, so that they
  /// cannot fault the process.
  WF_DEVICE i64 page_of(i32 row) const {
    const i64 entry = tile::max(tile::min(static_cast<i64>(row / page_size), last_entry), i64{0});
    return tile::max(tile::min(static_cast<i64>(table[entry]), last_page), i64{0});
  }

  WF_DEVICE const void* address(i32 row) const {
    if (table == nullptr) return base + row * token_bytes;
    return base + page_of(row) * page_bytes + (row % page_size) * token_bytes;
  }

  /// Calls f(i, address of row first + i) for i in [0, count), with one division in all.
  template <class F>
  WF_DEVICE void for_rows(i32 first, i32 count, F&& f) const {
    if (table == nullptr) {
      for (i32 i = 0; i < count; ++i)
        f(i, static_cast<const void*>(base + (first + i) * token_bytes));
      return;
    }
    i32 slot = first % page_size;
    i32 i = 0;
    while (i < count) {
      const char* page = base + page_of(first + i) * page_bytes;
      const i32 end = tile::min(count, i + page_size - slot);
      for (; i < end; ++i, ++slot) f(i, static_cast<const void*>(page + slot * token_bytes));
      slot = 0;
    }
  }
};

/// The rows of a KV tile: one segment of columns, or two side by side.
struct KvSource {
  KvRows segment[2];
  i32 dims[2];
  i32 segments;
  i32 kv_head;
  DType dtype;
};

WF_DEVICE KvRows kv_rows(const Params& p, const Request& request, const KvTensor& tensor,
                         i32 kv_head) {
  const i64 bytes = size_of(p.kv_dtype);
  const char* base = static_cast<const char*>(tensor.data) + kv_head * tensor.stride_head * bytes;
  const i64 token_bytes = tensor.stride_token * bytes;
  if (p.page_table == nullptr) {
    return {base + request.kv_begin * token_bytes, nullptr, 0, 0, 0, token_bytes, 1};
  }
  return {base,
          p.page_table + request.kv_begin,
          p.page_table_size - request.kv_begin - 1,
          p.num_pages - 1,
          tensor.stride_page * bytes,
          token_bytes,
          p.page_size};
}

WF_NAMESPACE_END
