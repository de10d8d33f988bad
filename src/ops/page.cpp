#include "wavefire/page.h"

#include <limits>

#include "device/cpu/levels.h"
#include "device/cpu/parallel.h"
#include "ops/index.h"
#include "ops/launch.h"
#include "ops/rows.h"
#include "tune/rows.h"

namespace wavefire {
namespace {

/// Names for messages.
struct Names {
  const char* operation;
  const char* rows[2];
  const char* caches[2];
};
constexpr Names kv_names = {
    "append_paged_kv_cache", {"append_key", "append_value"}, {"k_cache", "v_cache"}};
constexpr Names mla_names = {
    "append_paged_mla_kv_cache", {"append_ckv", "append_kpe"}, {"ckv_cache", "kpe_cache"}};

/// rows [tokens, heads, dim] and pages of `layout`.
kv_cache::Side read_side(const Names& names, int which, const TensorView& rows,
                         const TensorView& cache, int page_size, KvLayout layout) {
  const auto rule = core::check(names.operation, names.caches[which], cache);
  const bool nhd = layout == KvLayout::nhd;
  rule.defined().dtype(rows.dtype);
  if (nhd) {
    rule.shape({-1, page_size, rows.shape[1], rows.shape[2]});
  } else {
    rule.shape({-1, rows.shape[1], page_size, rows.shape[2]});
  }
  rule.last_dim_contiguous().writable();
  const std::int64_t size = size_of(rows.dtype);
  kv_cache::Side side;
  side.rows = rows.as<const char>();
  side.cache = cache.as<char>();
  side.row_token = rows.strides[0] * size;
  side.row_head = rows.strides[1] * size;
  side.cache_page = cache.strides[0] * size;
  side.cache_slot = cache.strides[nhd ? 1 : 2] * size;
  side.cache_head = cache.strides[nhd ? 2 : 1] * size;
  side.heads = rows.shape[1];
  side.bytes = rows.shape[2] * size;
  if (side.row_head == side.bytes && side.cache_head == side.bytes) {  // one piece
    side.bytes *= side.heads;
    side.heads = 1;
  }
  return side;
}

/// Throws for a token that has no page.
void check_place(const Names& names, const PageTable& pages, std::int64_t token,
                 std::int64_t request, std::int64_t position, std::int64_t pool) {
  const std::int64_t requests = pages.indptr.shape[0] - 1;
  if (request >= requests) {
    core::fail_argument(names.operation, "batch_indices", core::join(request, " at ", token),
                        core::join("-1 (padding) to ", requests - 1));
  }
  const std::int64_t first = ops::read_int(pages.indptr, request);
  const std::int64_t capacity =
      (ops::read_int(pages.indptr, request + 1) - first) * pages.page_size;
  if (position < 0 || position >= capacity) {
    core::fail_argument(
        names.operation, "positions", core::join(position, " at ", token),
        core::join("0 to ", capacity - 1, ", what the pages of request ", request, " hold"));
  }
  const std::int64_t page = ops::read_int(pages.indices, first + position / pages.page_size);
  if (page < 0 || page >= pool) {
    core::fail_argument(names.operation, "kv_indices", core::join(page),
                        core::join("0 to ", pool - 1, ", the pages of the cache"));
  }
}

/// A request with pages has 1 to page_size tokens on the last one; without, any value will do.
void check_last_pages(const ops::Place& place, const char* operation, const TensorView& indptr,
                      const TensorView& last, int page_size) {
  const std::int64_t batch = indptr.shape[0] - 1;
  core::check(operation, "kv_last_page_len", last).defined().dtype(DType::i32).shape({batch});
  core::require(page_size >= 1, operation, "page_size", page_size, "1 or more");
  for (std::int64_t b = 0; place.on_cpu() && b < batch; ++b) {
    if (ops::read_int(indptr, b + 1) == ops::read_int(indptr, b)) continue;
    const std::int64_t tokens = ops::read_int(last, b);
    if (tokens < 1 || tokens > page_size) {
      core::fail_argument(operation, "kv_last_page_len", core::join(tokens, " at ", b),
                          core::join("1 to page_size (", page_size, ")"));
    }
  }
}

/// Shapes and types; what they hold only on the CPU.
void check_tables(const ops::Place& place, const Names& names, std::int64_t tokens,
                  const TensorView& batch_indices, const TensorView& positions,
                  const PageTable& pages, std::int64_t pool) {
  const auto check_index = [&](const char* argument, const TensorView& view) {
    core::check(names.operation, argument, view).defined().dtype(DType::i32).shape({tokens});
  };
  check_index("batch_indices", batch_indices);
  check_index("positions", positions);
  const auto check_table = [&](const char* argument, const TensorView& view) {
    core::check(names.operation, argument, view).defined().dtype(DType::i32).rank(1);
  };
  check_table("kv_indptr", pages.indptr);
  core::require(pages.indptr.shape[0] >= 1, names.operation, "kv_indptr", pages.indptr,
                "at least one entry");
  check_table("kv_indices", pages.indices);
  core::require(pages.page_size >= 1, names.operation, "page_size", pages.page_size, "1 or more");
  if (!place.on_cpu()) return;
  const std::int64_t entries = ops::check_indptr(names.operation, "kv_indptr", pages.indptr);
  core::require(pages.indices.shape[0] >= entries, names.operation, "kv_indices",
                to_string(pages.indices), core::join("at least ", entries, " entries"));
  check_last_pages(place, names.operation, pages.indptr, pages.last_page_len, pages.page_size);
  for (std::int64_t i = 0; i < tokens; ++i) {  // all of them before the first is written
    const std::int64_t request = ops::read_int(batch_indices, i);
    if (request < 0) continue;
    check_place(names, pages, i, request, ops::read_int(positions, i), pool);
  }
}

kv_cache::Ints ints_of(const TensorView& view) { return {view.as<const i32>(), view.strides[0]}; }

/// `rows` and `caches` as read_side takes them.
void append(const Names& names, const TensorView (&rows)[2], const TensorView& batch_indices,
            const TensorView& positions, const TensorView (&caches)[2], const PageTable& pages,
            KvLayout layout) {
  const std::int64_t tokens = rows[0].shape[0];
  const ops::Place place =
      ops::place_of(names.operation, {{names.rows[0], rows[0]},
                                      {names.rows[1], rows[1]},
                                      {"batch_indices", batch_indices},
                                      {"positions", positions},
                                      {names.caches[0], caches[0]},
                                      {names.caches[1], caches[1]},
                                      {"kv_indices", pages.indices},
                                      {"kv_indptr", pages.indptr},
                                      {"kv_last_page_len", pages.last_page_len}});
  kv_cache::AppendLaunch p;
  std::int64_t bytes = 0;
  for (int i = 0; i < 2; ++i) {
    p.side[i] = read_side(names, i, rows[i], caches[i], pages.page_size, layout);
    bytes += p.side[i].bytes * p.side[i].heads;
  }
  const std::int64_t pool = std::min(caches[0].shape[0], caches[1].shape[0]);
  check_tables(place, names, tokens, batch_indices, positions, pages, pool);
  p.tables = {.batch_indices = ints_of(batch_indices),
              .positions = ints_of(positions),
              .indptr = ints_of(pages.indptr),
              .indices = ints_of(pages.indices),
              .requests = pages.indptr.shape[0] - 1,
              .entries = pages.indices.shape[0],
              .pages = pool,
              .page_size = pages.page_size};
  p.stream = ops::leaves_caches(tokens * bytes);
  p.tokens = tokens;
  if (tokens == 0) return;
  if (!place.on_cpu()) {
    return ops::launch_rows(place, generate::AppendConfig{tune::append_rows()}, tokens, p);
  }
  const cpu::RowKernels& kernels = cpu::row_kernels();
  cpu::parallel_ranges(
      tokens, ops::rows_per_task(bytes),
      [&](std::int64_t begin, std::int64_t end) { kernels.append(p, begin, end); });
}

/// A tensor with an axis of extent 1 put in front of the last one.
TensorView with_one_head(TensorView view) {
  const int last = view.rank - 1;
  view.shape[last + 1] = view.shape[last];
  view.strides[last + 1] = view.strides[last];
  view.shape[last] = 1;
  view.strides[last] = view.shape[last + 1];
  ++view.rank;
  return view;
}

}  // namespace

void append_paged_kv_cache(const TensorView& key, const TensorView& value,
                           const TensorView& batch_indices, const TensorView& positions,
                           const TensorView& k_cache, const TensorView& v_cache,
                           const PageTable& pages, KvLayout layout) {
  core::check(kv_names.operation, "append_key", key).defined().rank(3).last_dim_contiguous();
  core::check(kv_names.operation, "append_value", value)
      .defined()
      .dtype(key.dtype)
      .shape({key.shape[0], key.shape[1], -1})
      .last_dim_contiguous();
  append(kv_names, {key, value}, batch_indices, positions, {k_cache, v_cache}, pages, layout);
}

void append_paged_mla_kv_cache(const TensorView& ckv, const TensorView& kpe,
                               const TensorView& batch_indices, const TensorView& positions,
                               const TensorView& ckv_cache, const TensorView& kpe_cache,
                               const PageTable& pages) {
  const char* operation = mla_names.operation;
  core::check(operation, "append_ckv", ckv).defined().rank(2).last_dim_contiguous();
  core::check(operation, "append_kpe", kpe)
      .defined()
      .dtype(ckv.dtype)
      .shape({ckv.shape[0], -1})
      .last_dim_contiguous();
  core::check(operation, "ckv_cache", ckv_cache).defined().rank(3);
  core::check(operation, "kpe_cache", kpe_cache).defined().rank(3);
  append(mla_names, {with_one_head(ckv), with_one_head(kpe)}, batch_indices, positions,
         {with_one_head(ckv_cache), with_one_head(kpe_cache)}, pages, KvLayout::nhd);
}

void batch_indices_positions(const TensorView& append_indptr, const TensorView& seq_lens,
                             const TensorView& batch_indices, const TensorView& positions) {
  constexpr const char* operation = "get_batch_indices_positions";
  const ops::Place place = ops::place_of(operation, {{"append_indptr", append_indptr},
                                                     {"seq_lens", seq_lens},
                                                     {"batch_indices", batch_indices},
                                                     {"positions", positions}});
  const std::int64_t batch = ops::check_segments(operation, "append_indptr", append_indptr);
  core::check(operation, "seq_lens", seq_lens).defined().dtype(DType::i32).shape({batch});
  core::check(operation, "batch_indices", batch_indices)
      .defined()
      .dtype(DType::i32)
      .rank(1)
      .writable();
  core::check(operation, "positions", positions)
      .defined()
      .dtype(DType::i32)
      .shape({batch_indices.shape[0]})
      .writable();
  if (!place.on_cpu()) {
    return ops::launch_index(place, index::Kind::batch_positions,
                             {.count = positions.shape[0],
                              .segments = batch,
                              .indptr = ops::index_numbers(append_indptr),
                              .values = ops::index_numbers(seq_lens),
                              .out = ops::index_output(positions),
                              .batch = ops::index_output(batch_indices)});
  }
  const std::int64_t tokens = ops::check_indptr(operation, "append_indptr", append_indptr);
  core::require(batch_indices.shape[0] >= tokens, operation, "nnz", batch_indices.shape[0],
                core::join("at least ", tokens, ", the last entry of append_indptr"));
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t begin = ops::read_int(append_indptr, b),
                       end = ops::read_int(append_indptr, b + 1);
    const std::int64_t first = ops::read_int(seq_lens, b) - (end - begin);
    if (first < 0) {
      core::fail_argument(
          operation, "seq_lens", core::join(ops::read_int(seq_lens, b), " at ", b),
          core::join("at least the ", end - begin, " tokens appended to that request"));
    }
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
  const ops::Place place = ops::place_of(
      operation, {{"kv_indptr", indptr}, {"kv_last_page_len", last_page_len}, {"out", out}});
  const std::int64_t batch = ops::check_segments(operation, "kv_indptr", indptr);
  if (place.on_cpu()) ops::check_indptr(operation, "kv_indptr", indptr);
  check_last_pages(place, operation, indptr, last_page_len, page_size);
  core::check(operation, "out", out).defined().dtype(DType::i32).shape({batch}).writable();
  if (!place.on_cpu()) {
    return ops::launch_index(place, index::Kind::sequence_lengths,
                             {.count = batch,
                              .segments = batch,
                              .indptr = ops::index_numbers(indptr),
                              .values = ops::index_numbers(last_page_len),
                              .out = ops::index_output(out),
                              .page_size = page_size});
  }
  const auto length_of = [&](std::int64_t b) {
    const std::int64_t count = ops::read_int(indptr, b + 1) - ops::read_int(indptr, b);
    return count == 0 ? 0 : (count - 1) * page_size + ops::read_int(last_page_len, b);
  };
  for (std::int64_t b = 0; b < batch; ++b) {
    if (const std::int64_t length = length_of(b);
        length > std::numeric_limits<std::int32_t>::max()) {
      core::fail_argument(operation, "kv_indptr", core::join(length, " tokens at ", b),
                          "lengths that fit 32-bit integers");
    }
  }
  for (std::int64_t b = 0; b < batch; ++b) ops::write_int(out, b, length_of(b));
}

}  // namespace wavefire
