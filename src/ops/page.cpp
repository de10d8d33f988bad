#include "wavefire/page.h"

#include <cstring>

#include "device/cpu/parallel.h"
#include "ops/rows.h"

namespace wavefire {
namespace {

constexpr const char* append_operation = "append_paged_kv_cache";

/// Pages of one tensor: strides in bytes.
struct Cache {
  char* data;
  std::int64_t page, slot, head, pages;

  char* address(std::int64_t page_index, std::int64_t slot_index) const {
    return data + page_index * page + slot_index * slot;
  }
};

Cache read_cache(const char* argument, const TensorView& view, const TensorView& rows,
                 int page_size, KvLayout layout) {
  const auto rule = core::check(append_operation, argument, view);
  rule.defined().on_cpu().dtype(rows.dtype);
  const bool nhd = layout == KvLayout::nhd;
  if (nhd) {
    rule.shape({-1, page_size, rows.shape[1], rows.shape[2]});
  } else {
    rule.shape({-1, rows.shape[1], page_size, rows.shape[2]});
  }
  rule.last_dim_contiguous().writable();
  const std::int64_t size = size_of(view.dtype);
  return {view.as<char>(), view.strides[0] * size, view.strides[nhd ? 1 : 2] * size,
          view.strides[nhd ? 2 : 1] * size, view.shape[0]};
}

/// Page and slot of a token; throws for one that has no page.
struct Place {
  std::int64_t page, slot;
};

Place place_of(const PageTable& pages, std::int64_t token, std::int64_t request,
               std::int64_t position, std::int64_t pool) {
  core::require(request < pages.indptr.shape[0] - 1, append_operation, "batch_indices",
                core::join(request, " at ", token),
                core::join("-1 (padding) to ", pages.indptr.shape[0] - 2));
  const std::int64_t first = ops::read_int(pages.indptr, request);
  const std::int64_t capacity =
      (ops::read_int(pages.indptr, request + 1) - first) * pages.page_size;
  core::require(
      position >= 0 && position < capacity, append_operation, "positions",
      core::join(position, " at ", token),
      core::join("0 to ", capacity - 1, ", what the pages of request ", request, " hold"));
  const std::int64_t page = ops::read_int(pages.indices, first + position / pages.page_size);
  core::require(page >= 0 && page < pool, append_operation, "kv_indices", page,
                core::join("0 to ", pool - 1, ", the pages of the cache"));
  return {page, position % pages.page_size};
}

void copy_rows(const TensorView& rows, std::int64_t token, const Cache& cache, const Place& place) {
  const std::int64_t size = size_of(rows.dtype);
  const std::size_t bytes = static_cast<std::size_t>(rows.shape[2] * size);
  const char* from = rows.as<const char>() + token * rows.strides[0] * size;
  char* to = cache.address(place.page, place.slot);
  for (std::int64_t head = 0; head < rows.shape[1]; ++head) {
    std::memcpy(to + head * cache.head, from + head * rows.strides[1] * size, bytes);
  }
}

}  // namespace

void append_paged_kv_cache(const TensorView& key, const TensorView& value,
                           const TensorView& batch_indices, const TensorView& positions,
                           const TensorView& k_cache, const TensorView& v_cache,
                           const PageTable& pages, KvLayout layout) {
  core::check(append_operation, "append_key", key).defined().on_cpu().rank(3).last_dim_contiguous();
  core::check(append_operation, "append_value", value)
      .defined()
      .on_cpu()
      .dtype(key.dtype)
      .shape({key.shape[0], key.shape[1], -1})
      .last_dim_contiguous();
  const std::int64_t tokens = key.shape[0];
  core::check(append_operation, "batch_indices", batch_indices)
      .defined()
      .on_cpu()
      .dtype(DType::i32)
      .shape({tokens});
  core::check(append_operation, "positions", positions)
      .defined()
      .on_cpu()
      .dtype(DType::i32)
      .shape({tokens});
  const std::int64_t entries = ops::check_indptr(append_operation, "kv_indptr", pages.indptr);
  core::check(append_operation, "kv_indices", pages.indices)
      .defined()
      .on_cpu()
      .dtype(DType::i32)
      .rank(1);
  core::require(pages.indices.shape[0] >= entries, append_operation, "kv_indices", pages.indices,
                core::join("at least ", entries, " entries"));
  core::require(pages.page_size >= 1, append_operation, "page_size", pages.page_size, "1 or more");
  const Cache k = read_cache("k_cache", k_cache, key, pages.page_size, layout);
  const Cache v = read_cache("v_cache", v_cache, value, pages.page_size, layout);
  const std::int64_t pool = std::min(k.pages, v.pages);
  const auto place = [&](std::int64_t i) {
    return place_of(pages, i, ops::read_int(batch_indices, i), ops::read_int(positions, i), pool);
  };
  for (std::int64_t i = 0; i < tokens; ++i) {  // all of them before the first is written
    if (ops::read_int(batch_indices, i) >= 0) place(i);
  }
  cpu::parallel_ranges(tokens, ops::rows_per_task(2 * key.shape[1] * key.shape[2]),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) {
                           if (ops::read_int(batch_indices, i) < 0) continue;
                           const Place at = place(i);
                           copy_rows(key, i, k, at);
                           copy_rows(value, i, v, at);
                         }
                       });
}

void batch_indices_positions(const TensorView& append_indptr, const TensorView& seq_lens,
                             const TensorView& batch_indices, const TensorView& positions) {
  constexpr const char* operation = "get_batch_indices_positions";
  const std::int64_t tokens = ops::check_indptr(operation, "append_indptr", append_indptr);
  const std::int64_t batch = append_indptr.shape[0] - 1;
  core::check(operation, "seq_lens", seq_lens).defined().on_cpu().dtype(DType::i32).shape({batch});
  core::check(operation, "batch_indices", batch_indices)
      .defined()
      .on_cpu()
      .dtype(DType::i32)
      .rank(1)
      .writable();
  core::check(operation, "positions", positions)
      .defined()
      .on_cpu()
      .dtype(DType::i32)
      .shape({batch_indices.shape[0]})
      .writable();
  core::require(batch_indices.shape[0] >= tokens, operation, "nnz", batch_indices.shape[0],
                core::join("at least ", tokens, ", the last entry of append_indptr"));
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t begin = ops::read_int(append_indptr, b),
                       end = ops::read_int(append_indptr, b + 1);
    const std::int64_t first = ops::read_int(seq_lens, b) - (end - begin);
    core::require(first >= 0, operation, "seq_lens",
                  core::join(ops::read_int(seq_lens, b), " at ", b),
                  core::join("at least the ", end - begin, " tokens appended to that request"));
  }
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t begin = ops::read_int(append_indptr, b),
                       end = ops::read_int(append_indptr, b + 1);
    for (std::int64_t i = begin; i < end; ++i) {
      ops::write_int(batch_indices, i, b);
      ops::write_int(positions, i, ops::read_int(seq_lens, b) - (end - i));
    }
  }
  for (std::int64_t i = tokens; i < batch_indices.shape[0]; ++i) {
    ops::write_int(batch_indices, i, -1);
    ops::write_int(positions, i, 0);
  }
}

void sequence_lengths(const TensorView& indptr, const TensorView& last_page_len, int page_size,
                      const TensorView& out) {
  constexpr const char* operation = "get_seq_lens";
  ops::check_indptr(operation, "kv_indptr", indptr);
  const std::int64_t batch = indptr.shape[0] - 1;
  core::check(operation, "kv_last_page_len", last_page_len)
      .defined()
      .on_cpu()
      .dtype(DType::i32)
      .shape({batch});
  core::check(operation, "out", out).defined().on_cpu().dtype(DType::i32).shape({batch}).writable();
  core::require(page_size >= 1, operation, "page_size", page_size, "1 or more");
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t count = ops::read_int(indptr, b + 1) - ops::read_int(indptr, b);
    const std::int64_t last = ops::read_int(last_page_len, b);
    ops::write_int(out, b, count == 0 ? 0 : (count - 1) * page_size + last);
  }
}

}  // namespace wavefire
