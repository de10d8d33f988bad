// A captured graph follows later plans: other lengths, longer ones than at capture, other pages.
// For GPUs and the virtual Instinct.
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

/// Decode of a batch whose lengths and pages change from plan to plan.
class Decode {
 public:
  explicit Decode(std::mt19937& random)
      : random_(random),
        q_(random_tensor(DType::bf16, {batch, kv_heads * group, head_dim}, Layout::packed, random)),
        k_(random_tensor(DType::bf16, {pool, page_size, kv_heads, head_dim}, Layout::packed,
                         random)),
        v_(random_tensor(DType::bf16, {pool, page_size, kv_heads, head_dim}, Layout::packed,
                         random)),
        out_(DType::bf16, {batch, kv_heads * group, head_dim}),
        lse_(DType::f32, {batch, kv_heads * group}) {
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
      qo.push_back(qo.back() + 1);
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
  HostTensor q_, k_, v_, out_, lse_;
  AttentionTensors tensors_;
  std::array<HostTensor, 4> tables_;
};

device::Graph capture(Decode& decode, const BatchAttention& attention,
                      const device::Stream& stream) {
  const StreamScope scope(test_device(), stream.handle());
  return device::Graph::capture(stream, [&] { decode.run(attention); });
}

TEST(AttentionGraph, FollowsAHundredPlans) {
  ASSERT_NE(test_gpu(), nullptr) << "set WAVEFIRE_TEST_DEVICE";
  std::mt19937 random(11);
  Decode decode(random);
  const device::Stream stream(*test_gpu());
  BatchAttention captured, fresh;
  const auto plan_captured = [&](const std::vector<int>& lengths) {
    const StreamScope scope(test_device(), stream.handle());
    decode.plan(captured, lengths, true);
  };
  plan_captured({5, 1, 20});
  {
    const StreamScope scope(test_device(), stream.handle());
    decode.run(captured);  // kernels are there before the capture
  }
  stream.synchronize();
  const device::Graph graph = capture(decode, captured, stream);
  for (int i = 0; i < 100; ++i) {
    SCOPED_TRACE("plan " + std::to_string(i));
    std::vector<int> lengths;
    for (int b = 0; b < batch; ++b) lengths.push_back(1 + static_cast<int>(random() % 300));
    plan_captured(lengths);
    decode.take_result();
    graph.launch(stream);
    stream.synchronize();
    const auto replayed = decode.take_result();
    decode.replan(fresh, false);
    decode.run(fresh);
    ASSERT_EQ(replayed, decode.take_result());
  }
}

TEST(AttentionGraph, PlansThatDoNotFitAreRefused) {
  ASSERT_NE(test_gpu(), nullptr) << "set WAVEFIRE_TEST_DEVICE";
  std::mt19937 random(12);
  Decode decode(random);
  BatchAttention attention;
  decode.plan(attention, {5, 1}, true);
  expect_rejected("qo_indptr", [&] { decode.plan(attention, {5, 1, 7}, true); });
  decode.plan(attention, {300, 2}, true);
}

}  // namespace
}  // namespace wavefire::cases
