// A captured graph follows later plans: other lengths, longer ones than at capture, other pages;
// for decode and for prefill, whose kernels may read K and V by tensor maps. For GPUs and the
// virtual Instinct.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "cases/rows.h"
#include "wavefire/attention.h"
#include "wavefire/device.h"

namespace wavefire::cases {
namespace {

constexpr std::int64_t page_size = 16, kv_heads = 2, group = 4, head_dim = 64, batch = 3;
constexpr std::int64_t pool = 64;  // pages

/// A batch of requests of `q_len` tokens whose lengths and pages change from plan to plan.
class Requests {
 public:
  Requests(std::mt19937& random, int q_len)
      : random_(random),
        q_len_(q_len),
        q_(random_tensor(DType::bf16, {batch * q_len, kv_heads * group, head_dim}, Layout::packed,
                         random)),
        k_(random_tensor(DType::bf16, {pool, page_size, kv_heads, head_dim}, Layout::packed,
                         random)),
        v_(random_tensor(DType::bf16, {pool, page_size, kv_heads, head_dim}, Layout::packed,
                         random)),
        out_(DType::bf16, {batch * q_len, kv_heads * group, head_dim}),
        lse_(DType::f32, {batch * q_len, kv_heads * group}) {
    tensors_.q = q_.view();
    tensors_.k = k_.view();
    tensors_.v = v_.view();
    tensors_.out = out_.view();
    tensors_.lse = lse_.view();
  }

  void plan(BatchAttention& attention, const std::vector<int>& lengths, bool graph) {
    std::vector<std::int32_t> pages(pool), indptr{0}, last, qo{0};
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), random_);
    for (int length : lengths) {
      indptr.push_back(indptr.back() +
                       static_cast<std::int32_t>((length + page_size - 1) / page_size));
      last.push_back(static_cast<std::int32_t>((length - 1) % page_size + 1));
      qo.push_back(qo.back() + q_len_);
    }
    pages.resize(static_cast<std::size_t>(indptr.back()));
    tables_ = {HostTensor::of(indptr), HostTensor::of(pages), HostTensor::of(last),
               HostTensor::of(qo)};
    replan(attention, graph);
  }
  /// The same tables again.
  void replan(BatchAttention& attention, bool graph) {
    AttentionOptions o;
    o.num_kv_heads = kv_heads;
    o.num_qo_heads = kv_heads * group;
    o.head_dim_qk = head_dim;
    o.device = test_device();
    o.causal = true;
    o.workers = 12;
    o.graph_pages = graph ? pool : 0;
    attention.plan(o, tables_[3].view(),
                   {tables_[0].view(), tables_[1].view(), tables_[2].view(), page_size});
  }
  void run(const BatchAttention& attention) const { attention.run(tensors_); }
  std::vector<unsigned char> take_result() {
    std::vector<unsigned char> bytes(out_.bytes().begin(), out_.bytes().end());
    bytes.insert(bytes.end(), lse_.bytes().begin(), lse_.bytes().end());
    out_.fill_bits(reference::nan_bits_of(DType::bf16));
    lse_.fill_bits(reference::nan_bits_of(DType::f32));
    return bytes;
  }

 private:
  std::mt19937& random_;
  int q_len_;
  HostTensor q_, k_, v_, out_, lse_;
  AttentionTensors tensors_;
  std::array<HostTensor, 4> tables_;
};

device::Graph capture(Requests& requests, const BatchAttention& attention,
                      const device::Stream& stream) {
  const StreamScope scope(test_device(), stream.handle());
  return device::Graph::capture(stream, [&] { requests.run(attention); });
}

/// Replays the graph of a plan of short requests after each of `plans` other ones, and compares.
void expect_to_follow(int plans, int q_len, std::uint32_t seed) {
  ASSERT_NE(test_gpu(), nullptr) << "set WAVEFIRE_TEST_DEVICE";
  std::mt19937 random(seed);
  Requests requests(random, q_len);
  const device::Stream stream(*test_gpu());
  BatchAttention captured, fresh;
  const auto plan_captured = [&](const std::vector<int>& lengths) {
    const StreamScope scope(test_device(), stream.handle());
    requests.plan(captured, lengths, true);
  };
  plan_captured({q_len + 4, q_len, q_len + 19});
  {
    const StreamScope scope(test_device(), stream.handle());
    requests.run(captured);  // kernels are there before the capture
  }
  stream.synchronize();
  const device::Graph graph = capture(requests, captured, stream);
  for (int i = 0; i < plans; ++i) {
    SCOPED_TRACE("plan " + std::to_string(i));
    std::vector<int> lengths;
    for (int b = 0; b < batch; ++b) lengths.push_back(q_len + static_cast<int>(random() % 300));
    plan_captured(lengths);
    requests.take_result();
    graph.launch(stream);
    stream.synchronize();
    const auto replayed = requests.take_result();
    requests.replan(fresh, false);
    requests.run(fresh);
    ASSERT_EQ(replayed, requests.take_result());
  }
}

TEST(AttentionGraph, DecodeFollowsAHundredPlans) { expect_to_follow(100, 1, 11); }

// Groups of four query heads: more packed rows than a kernel for few rows takes.
TEST(AttentionGraph, PrefillFollowsPlans) { expect_to_follow(8, 9, 13); }

TEST(AttentionGraph, PlansThatDoNotFitAreRefused) {
  ASSERT_NE(test_gpu(), nullptr) << "set WAVEFIRE_TEST_DEVICE";
  std::mt19937 random(12);
  Requests requests(random, 1);
  BatchAttention attention;
  requests.plan(attention, {5, 1}, true);
  expect_rejected("qo_indptr", [&] { requests.plan(attention, {5, 1, 7}, true); });
  requests.plan(attention, {300, 2}, true);
}

}  // namespace
}  // namespace wavefire::cases
