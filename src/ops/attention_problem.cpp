#include "ops/attention_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/check.h"

namespace wavefire::ops {
namespace {

constexpr const char* operation = "attention plan";

void require_head_dim(const char* argument, int head_dim) {
  core::require(head_dim >= 8 && head_dim <= 512 && head_dim % 8 == 0, operation, argument,
                head_dim, "a multiple of 8 from 8 to 512");
}

void require_dtype(const char* argument, DType dtype, bool float8) {
  const bool wide = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  core::require(
      wide || (float8 && is_float8(dtype)), operation, argument, std::string(name_of(dtype)),
      float8 ? "float32, float16, bfloat16 or a float8 type" : "float32, float16 or bfloat16");
}

[[noreturn]] void fail_length(const char* argument, i64 length, i64 request) {
  core::fail_argument(operation, argument, core::join(length, " tokens at ", request),
                      core::join("up to ", longest_request,
                                 " tokens a request (queries: tokens times heads per KV head)"));
}

// Building the value of a message costs a microsecond: checks in loops build it after they fail.

/// A view of host int32 values of rank 1 with any stride.
struct Ints {
  const i32* data;
  i64 stride;
  i64 size;

  i32 operator[](i64 i) const { return data[i * stride]; }
};

Ints read_ints(const char* argument, const TensorView& view) {
  core::check(operation, argument, view).defined().on({}).dtype(DType::i32).rank(1);
  return {view.as<const i32>(), view.strides[0], view.shape[0]};
}

Ints read_indptr(const char* argument, const TensorView& view, i64 size) {
  const Ints indptr = read_ints(argument, view);
  if (size >= 0) {
    core::require(indptr.size == size, operation, argument, view,
                  core::join("shape [", size, "], one more than the batch size"));
  }
  core::require(indptr.size >= 1, operation, argument, view, "at least one entry");
  core::require(indptr[0] == 0, operation, argument, core::join(indptr[0], " at 0"),
                "0 as the first entry");
  for (i64 i = 1; i < indptr.size; ++i) {
    if (indptr[i] >= indptr[i - 1]) continue;
    core::fail_argument(operation, argument,
                        core::join(indptr[i], " at ", i, " after ", indptr[i - 1]),
                        "entries that do not decrease");
  }
  return indptr;
}

void set_queries(AttentionBatch& batch, const Ints& qo_indptr) {
  batch.requests.resize(static_cast<std::size_t>(qo_indptr.size - 1));
  for (i64 b = 0; b + 1 < qo_indptr.size; ++b) {
    attention::Request& request = batch.requests[static_cast<std::size_t>(b)] = {};
    request.q_begin = qo_indptr[b];
    request.q_len = qo_indptr[b + 1] - qo_indptr[b];
  }
  batch.tokens = qo_indptr[qo_indptr.size - 1];
}

/// Copies up to a cache's worth of page indices and folds them into their bitwise or and maximum.
void copy_pages(i32* to, const Ints& indices, i64 begin, i64 count, i32& bits, i32& most) {
  if (indices.stride == 1) {
    std::copy_n(indices.data + begin, count, to);
  } else {
    for (i64 i = 0; i < count; ++i) to[i] = indices[begin + i];
  }
  // Four maxima, so that comparisons do not wait for each other. Each is one register of the
  // baseline: compilers keep wider vectors in memory, at half the speed.
  constexpr int lanes = 4, maxima = 4;
  using Lanes = i32 __attribute__((vector_size(4 * lanes)));
  Lanes any = {}, largest[maxima] = {};
  i64 i = 0;
  for (; i + lanes * maxima <= count; i += lanes * maxima) {
    for (int m = 0; m < maxima; ++m) {
      Lanes pages;
      std::memcpy(&pages, to + i + m * lanes, sizeof pages);
      any |= pages;
      largest[m] = pages > largest[m] ? pages : largest[m];
    }
  }
  for (; i < count; ++i) {
    bits |= to[i];
    most = std::max(most, to[i]);
  }
  if (count < lanes * maxima) return;
  for (int lane = 0; lane < lanes; ++lane) {
    bits |= any[lane];
    for (const Lanes& found : largest) most = std::max(most, found[lane]);
  }
}

void set_pages(AttentionBatch& batch, const Ints& indices, i64 entries) {
  constexpr i64 block = 4096;
  // One entry at least: its address tells paged from ragged.
  batch.page_table.resize(static_cast<std::size_t>(std::max<i64>(entries, 1)));
  i32 bits = 0;  // negative if one of them is
  batch.max_page = -1;
  for (i64 begin = 0; begin < entries; begin += block) {
    copy_pages(batch.page_table.data() + begin, indices, begin, std::min(block, entries - begin),
               bits, batch.max_page);
  }
  if (bits >= 0) return;
  i64 at = 0;
  while (indices[at] >= 0) ++at;
  core::fail_argument(operation, "kv_indices", core::join(indices[at], " at ", at),
                      "page indices of 0 or more");
}

void set_mask(AttentionBatch& batch, const CustomMask& mask) {
  const bool packed = mask.bits.defined() && mask.bits.dtype == DType::u8;
  core::require(packed || !mask.indptr.defined(), operation, "custom_mask indptr", "given",
                "none without packed bits (uint8)");
  batch.mask.clear();
  if (!mask.bits.defined()) return;
  core::check(operation, "custom_mask", mask.bits)
      .on({})
      .one_of({DType::b1, DType::u8})
      .rank(1)
      .contiguous();
  Ints indptr{};
  if (packed) {
    indptr =
        read_indptr("custom_mask indptr", mask.indptr, static_cast<i64>(batch.requests.size()) + 1);
  }
  i64 bits = 0, bytes = 0;
  for (std::size_t b = 0; b < batch.requests.size(); ++b) {
    attention::Request& request = batch.requests[b];
    const i64 count = i64{request.q_len} * request.kv_len;
    if (packed) {
      const i64 given = i64{indptr[static_cast<i64>(b) + 1]} - indptr[static_cast<i64>(b)];
      if (given < (count + 7) / 8) {
        core::fail_argument(
            operation, "custom_mask indptr", core::join(given, " bytes for request ", b),
            core::join("at least ", (count + 7) / 8, " bytes (q_len * kv_len bits)"));
      }
      request.mask_begin = indptr[static_cast<i64>(b)];
    } else {
      request.mask_begin = bytes;
    }
    bits += count;
    bytes += (count + 7) / 8;
  }
  const u8* data = mask.bits.as<const u8>();
  if (packed) {
    const i64 end = indptr[indptr.size - 1];
    core::require(mask.bits.shape[0] >= end, operation, "custom_mask", mask.bits,
                  core::join("at least ", end, " bytes, the last entry of its indptr"));
    batch.mask.assign(data, data + end);
  } else {
    core::require(mask.bits.shape[0] == bits, operation, "custom_mask", mask.bits,
                  core::join("shape [", bits, "], the sum of q_len * kv_len"));
    batch.mask.assign(static_cast<std::size_t>(bytes), 0);
    for (const attention::Request& request : batch.requests) {
      const i64 count = i64{request.q_len} * request.kv_len;
      for (i64 i = 0; i < count; ++i, ++data) {
        if (*data != 0) {
          batch.mask[static_cast<std::size_t>(request.mask_begin + i / 8)] |=
              static_cast<u8>(1 << i % 8);
        }
      }
    }
  }
  // Without a byte there would be no pointer to tell an all-empty mask from none.
  if (batch.mask.empty()) batch.mask.push_back(0);
}

}  // namespace

AttentionOptions complete(const AttentionOptions& options) {
  AttentionOptions o = options;
  if (o.head_dim_vo == 0) o.head_dim_vo = o.head_dim_qk;
  core::require(o.num_kv_heads >= 1, operation, "num_kv_heads", o.num_kv_heads, "1 or more");
  core::require(o.num_qo_heads >= 1 && o.num_qo_heads % o.num_kv_heads == 0, operation,
                "num_qo_heads", o.num_qo_heads,
                core::join("a positive multiple of num_kv_heads (", o.num_kv_heads, ")"));
  require_head_dim("head_dim_qk", o.head_dim_qk);
  require_head_dim("head_dim_vo", o.head_dim_vo);
  require_dtype("q_dtype", o.q_dtype, false);
  require_dtype("kv_dtype", o.kv_dtype, true);
  require_dtype("o_dtype", o.o_dtype, false);
  core::require(o.window_left >= -1, operation, "window_left", o.window_left,
                "-1 (no bound) or more");
  // Its inverse and its multiple by log2(e) must be numbers too.
  const float cap = o.logits_soft_cap;
  core::require(cap == 0 || (cap >= 0x1p-100f && cap <= 0x1p100f), operation, "logits_soft_cap",
                cap, "0 (none) or a number from 2^-100 to 2^100");
  if (!o.sm_scale) o.sm_scale = 1.f / std::sqrt(static_cast<float>(o.head_dim_qk));
  core::require(std::isfinite(*o.sm_scale), operation, "sm_scale", *o.sm_scale, "a finite number");
  require_rope(operation, o.rope);
  core::require(o.fixed_split_kv >= 0, operation, "fixed_split_kv", o.fixed_split_kv,
                "0 (as balance asks) or more");
  core::require(o.workers >= 0, operation, "workers", o.workers,
                "0 (as many as there are) or more");
  return o;
}

void read_batch(AttentionBatch& batch, const TensorView& qo_indptr_view, const PageTable& pages,
                const CustomMask& mask) {
  batch.paged = true;
  batch.kv_rows = 0;
  core::require(pages.page_size >= 1, operation, "page_size", pages.page_size, "1 or more");
  batch.page_size = pages.page_size;
  const Ints qo_indptr = read_indptr("qo_indptr", qo_indptr_view, -1);
  const Ints indptr = read_indptr("kv_indptr", pages.indptr, qo_indptr.size);
  const Ints indices = read_ints("kv_indices", pages.indices);
  const Ints last = read_ints("kv_last_page_len", pages.last_page_len);
  set_queries(batch, qo_indptr);
  const i64 entries = indptr[indptr.size - 1];
  core::require(indices.size >= entries, operation, "kv_indices", pages.indices,
                core::join("at least ", entries, " entries, the last of kv_indptr"));
  core::require(last.size == qo_indptr.size - 1, operation, "kv_last_page_len", pages.last_page_len,
                core::join("shape [", qo_indptr.size - 1, "], the batch size"));
  for (i64 b = 0; b < last.size; ++b) {
    attention::Request& request = batch.requests[static_cast<std::size_t>(b)];
    const i64 count = i64{indptr[b + 1]} - indptr[b];
    request.kv_begin = indptr[b];
    if (count == 0) continue;  // whatever last_page_len holds
    if (last[b] < 1 || last[b] > pages.page_size) {
      core::fail_argument(operation, "kv_last_page_len", core::join(last[b], " at ", b),
                          core::join("1 to page_size (", pages.page_size, ")"));
    }
    const i64 length = (count - 1) * pages.page_size + last[b];
    if (length > longest_request) fail_length("kv_indptr", length, b);
    request.kv_len = static_cast<i32>(length);
  }
  set_pages(batch, indices, entries);
  set_mask(batch, mask);
}

void read_batch(AttentionBatch& batch, const TensorView& qo_indptr_view,
                const TensorView& kv_indptr_view, const CustomMask& mask) {
  batch.paged = false;
  batch.page_size = 1;
  batch.page_table.clear();
  batch.max_page = -1;
  const Ints qo_indptr = read_indptr("qo_indptr", qo_indptr_view, -1);
  const Ints kv_indptr = read_indptr("kv_indptr", kv_indptr_view, qo_indptr.size);
  set_queries(batch, qo_indptr);
  for (i64 b = 0; b + 1 < kv_indptr.size; ++b) {
    attention::Request& request = batch.requests[static_cast<std::size_t>(b)];
    request.kv_begin = kv_indptr[b];
    request.kv_len = kv_indptr[b + 1] - kv_indptr[b];
  }
  batch.kv_rows = kv_indptr[kv_indptr.size - 1];
  set_mask(batch, mask);
}

void require_lengths(const AttentionBatch& batch, int group) {
  for (std::size_t b = 0; b < batch.requests.size(); ++b) {
    const attention::Request& request = batch.requests[b];
    const i64 rows = i64{request.q_len} * group;
    if (rows > longest_request) fail_length("qo_indptr", rows, static_cast<i64>(b));
    if (request.kv_len > longest_request) {
      fail_length("kv_indptr", request.kv_len, static_cast<i64>(b));
    }
  }
}

void require_graph_pages(const AttentionBatch& batch, std::int64_t graph_pages) {
  const auto entries = static_cast<std::int64_t>(batch.page_table.size());
  core::require(entries <= graph_pages, operation, "kv_indices", core::join(entries, " entries"),
                core::join("up to ", graph_pages, ", which were set aside for graphs"));
}

void require_rotatable(const AttentionBatch& batch, const AttentionOptions& options) {
  const i64 limit = rope_limit(options.rope, options.head_dim_qk);
  for (std::size_t b = 0; b < batch.requests.size(); ++b) {
    core::require(batch.requests[b].kv_len <= limit, operation, "kv_indptr",
                  core::join(batch.requests[b].kv_len, " tokens at ", b),
                  core::join("up to ", limit, " tokens where RoPE rotates inside attention"));
  }
}

void require_rope(const char* who, const RopeParameters& rope) {
  const auto positive = [who](const char* argument, float value) {
    core::require(std::isfinite(value) && value > 0, who, argument, value, "a positive number");
  };
  positive("rope_scale", rope.scale);
  positive("rope_theta", rope.theta);
  core::require(rope.low_freq_factor >= 0, who, "rope low_freq_factor", rope.low_freq_factor,
                "0 (frequencies not smoothed) or more");
  if (rope.low_freq_factor == 0) return;
  positive("rope old_context_len", rope.old_context_len);
  core::require(
      std::isfinite(rope.high_freq_factor) && rope.high_freq_factor > rope.low_freq_factor, who,
      "rope high_freq_factor", rope.high_freq_factor,
      core::join("more than low_freq_factor (", rope.low_freq_factor, ")"));
}

std::vector<double> rope_frequencies(const RopeParameters& rope, int head_dim) {
  std::vector<double> frequencies(static_cast<std::size_t>(head_dim / 2));
  for (int i = 0; i < head_dim / 2; ++i) {
    double f = std::pow(double{rope.theta}, -2.0 * i / head_dim);
    if (rope.low_freq_factor > 0) {
      const double low = rope.low_freq_factor, high = rope.high_freq_factor;
      const double smooth = std::clamp(
          f * rope.old_context_len / (2 * std::numbers::pi * (high - low)) - 1 / (high / low - 1),
          0.0, 1.0);
      f = (1 - smooth) * f / rope.scale + smooth * f;
    } else {
      f /= rope.scale;
    }
    frequencies[static_cast<std::size_t>(i)] = f;
  }
  return frequencies;
}

i64 rope_limit(const RopeParameters& rope, int head_dim) {
  double fastest = 1;
  for (double f : rope_frequencies(rope, head_dim)) fastest = std::max(fastest, f);
  return static_cast<i64>(static_cast<double>(longest_rope) / fastest);
}

}  // namespace wavefire::ops
