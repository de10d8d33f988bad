// Prompts and single tokens in one batch: a request may bring any number of query tokens, also
// none, over any number of keys. What a batch computes for a request is what the request gets
// alone.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "wavefire/attention.h"

namespace {

using wavefire::DType;
using wavefire::TensorView;
constexpr std::int64_t qo_heads = 4, kv_heads = 2, head_dim = 64;

std::vector<float> randoms(std::int64_t count) {
  static std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

/// Tokens or rows [first, last) of data [., heads, head_dim].
TensorView slice(std::vector<float>& data, std::int64_t first, std::int64_t last,
                 std::int64_t heads) {
  return TensorView::contiguous(data.data() + first * heads * head_dim, DType::f32,
                                {last - first, heads, head_dim});
}

}  // namespace

int main() {
  // A prompt, a prompt's continuation, two decoding requests, one that waits.
  std::vector<std::int32_t> qo_indptr = {0, 20, 28, 29, 30, 30};
  std::vector<std::int32_t> kv_indptr = {0, 20, 70, 71, 371, 400};
  const auto requests = static_cast<std::int64_t>(qo_indptr.size()) - 1;
  const std::int64_t tokens = qo_indptr.back(), rows = kv_indptr.back();

  std::vector<float> q = randoms(tokens * qo_heads * head_dim);
  std::vector<float> k = randoms(rows * kv_heads * head_dim);
  std::vector<float> v = randoms(rows * kv_heads * head_dim);
  std::vector<float> out(q.size()), alone(q.size());

  wavefire::AttentionOptions options;
  options.num_qo_heads = qo_heads;
  options.num_kv_heads = kv_heads;
  options.head_dim_qk = head_dim;
  options.q_dtype = options.kv_dtype = options.o_dtype = DType::f32;
  options.causal = true;         // each request's last token sees all of its keys
  options.fixed_split_kv = 128;  // results do not depend on who else is in the batch

  const auto indptr = [&](std::vector<std::int32_t>& values) {
    return TensorView::contiguous(values.data(), DType::i32, {requests + 1});
  };
  wavefire::BatchAttention attention;
  attention.plan(options, indptr(qo_indptr), indptr(kv_indptr));
  std::printf("%d work items, %d results joined from parts\n", attention.work_items(),
              attention.joins());

  // The tensors of query tokens [t0, t1) over rows [r0, r1).
  const auto tensors = [&](std::vector<float>& result, std::int64_t t0, std::int64_t t1,
                           std::int64_t r0, std::int64_t r1) {
    wavefire::AttentionTensors t;
    t.q = slice(q, t0, t1, qo_heads);
    t.k = slice(k, r0, r1, kv_heads);
    t.v = slice(v, r0, r1, kv_heads);
    t.out = slice(result, t0, t1, qo_heads);
    return t;
  };
  attention.run(tensors(out, 0, tokens, 0, rows));

  for (std::size_t b = 0; b + 1 < qo_indptr.size(); ++b) {
    wavefire::single_attention(
        options, tensors(alone, qo_indptr[b], qo_indptr[b + 1], kv_indptr[b], kv_indptr[b + 1]));
    std::printf("request %zu: %d query tokens, %d keys\n", b, qo_indptr[b + 1] - qo_indptr[b],
                kv_indptr[b + 1] - kv_indptr[b]);
  }
  const bool same = out == alone;
  std::printf("batch and single requests are %s\n", same ? "equal to the bit" : "DIFFERENT");
  return same ? 0 : 1;
}
