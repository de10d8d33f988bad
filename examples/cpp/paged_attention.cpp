// Decoding over a paged KV cache: two sequences that share their prompt's pages.
//
// The cache manager hands out pages and tables, append writes the keys and values of new tokens,
// and one planned attention serves every layer of a step.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "wavefire/attention.h"
#include "wavefire/kv_cache.h"
#include "wavefire/page.h"

namespace {

using wavefire::DType;
using wavefire::TensorView;

constexpr int num_pages = 64, page_size = 16, layers = 2;
constexpr int qo_heads = 8, kv_heads = 2, head_dim = 64;

/// A float32 tensor with memory of its own.
struct Tensor {
  std::vector<float> data;
  TensorView view;

  explicit Tensor(std::initializer_list<std::int64_t> shape) {
    view = TensorView::contiguous(nullptr, DType::f32, shape);
    data.resize(static_cast<std::size_t>(view.size()));
    view.data = data.data();
  }
  void randomize(std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (float& x : data) x = normal(random);
  }
};

TensorView view_of(std::vector<std::int32_t>& values) {
  return TensorView::contiguous(values.data(), DType::i32,
                                {static_cast<std::int64_t>(values.size())});
}

struct Layer {
  Tensor k{num_pages, page_size, kv_heads, head_dim};
  Tensor v{num_pages, page_size, kv_heads, head_dim};
};

void copy_page(const wavefire::PageCopy& copy, std::vector<Layer>& model) {
  constexpr std::ptrdiff_t page = std::ptrdiff_t{page_size} * kv_heads * head_dim;
  for (Layer& layer : model) {
    for (std::vector<float>* data : {&layer.k.data, &layer.v.data}) {
      std::copy_n(data->begin() + page * copy.from, page, data->begin() + page * copy.to);
    }
  }
}

/// Writes the keys and values of `count` tokens, beginning at `position` of one sequence.
void write_tokens(const wavefire::KvCache& cache, wavefire::KvCache::SequenceId id,
                  std::int32_t position, std::int32_t count, std::vector<Layer>& model,
                  std::mt19937& random) {
  wavefire::KvTables tables = cache.tables({{id}});
  std::vector<std::int32_t> batch_indices(static_cast<std::size_t>(count), 0), positions;
  for (std::int32_t i = 0; i < count; ++i) positions.push_back(position + i);
  for (Layer& layer : model) {
    Tensor key{count, kv_heads, head_dim}, value{count, kv_heads, head_dim};
    key.randomize(random);
    value.randomize(random);
    wavefire::append_paged_kv_cache(
        key.view, value.view, view_of(batch_indices), view_of(positions), layer.k.view,
        layer.v.view,
        {view_of(tables.indptr), view_of(tables.indices), view_of(tables.last_page_len), page_size},
        wavefire::KvLayout::nhd);
  }
}

}  // namespace

int main() {
  std::mt19937 random(1);
  std::vector<Layer> model(layers);
  wavefire::KvCache cache({.num_pages = num_pages, .page_size = page_size});

  // A prompt of 40 tokens, then a second sequence that continues from the same prompt.
  std::vector<std::int32_t> prompt(40);
  for (std::int32_t i = 0; i < 40; ++i) prompt[static_cast<std::size_t>(i)] = 100 + i;
  const auto first = cache.create().id;
  cache.append(first, prompt);
  write_tokens(cache, first, 0, 40, model, random);
  cache.commit(first);
  const auto second = cache.fork(first);

  // A token each. The last page is shared no longer: append says what to copy.
  for (const auto id : {first, second}) {
    for (const wavefire::PageCopy& copy : cache.append(id, {{7}})) copy_page(copy, model);
    write_tokens(cache, id, 40, 1, model, random);
  }
  std::printf("%lld pages in use, %lld of them shared\n",
              static_cast<long long>(cache.stats().used),
              static_cast<long long>(cache.stats().shared));

  // One plan for the step, one run for each layer.
  wavefire::KvTables tables = cache.tables({{first, second}});
  std::vector<std::int32_t> qo_indptr = {0, 1, 2};
  wavefire::AttentionOptions options;
  options.num_qo_heads = qo_heads;
  options.num_kv_heads = kv_heads;
  options.head_dim_qk = head_dim;
  options.q_dtype = options.kv_dtype = options.o_dtype = DType::f32;
  options.causal = true;
  wavefire::BatchAttention attention;
  attention.plan(
      options, view_of(qo_indptr),
      {view_of(tables.indptr), view_of(tables.indices), view_of(tables.last_page_len), page_size});

  bool good = true;
  for (Layer& layer : model) {
    Tensor q{2, qo_heads, head_dim}, out{2, qo_heads, head_dim}, lse{2, qo_heads};
    q.randomize(random);
    wavefire::AttentionTensors tensors;
    tensors.q = q.view;
    tensors.k = layer.k.view;
    tensors.v = layer.v.view;
    tensors.out = out.view;
    tensors.lse = lse.view;
    attention.run(tensors);
    std::printf("out %8.5f %8.5f %8.5f ...  lse %7.4f %7.4f\n", out.data[0], out.data[1],
                out.data[2], lse.data[0], lse.data[qo_heads]);
    for (float x : out.data) good = good && std::isfinite(x) && std::fabs(x) < 3;
    // 41 keys with logits around 0: the sum of their exponentials is near 41 to 41 sqrt(e).
    for (float x : lse.data) good = good && x > 5 && x < 8;
  }
  return good ? 0 : 1;
}
