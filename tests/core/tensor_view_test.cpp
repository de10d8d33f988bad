// Views that an operation must not read through.
#include "wavefire/tensor_view.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "wavefire/attention.h"
#include "wavefire/error.h"
#include "wavefire/norm.h"

namespace wavefire {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "nothing was thrown";
}

TensorView absent(DType dtype, std::initializer_list<std::int64_t> shape) {
  return TensorView::contiguous(nullptr, dtype, shape);
}

TEST(TensorView, OfTooManyDimensionsIsNamed) {
  float value = 0;
  TensorView view = TensorView::contiguous(&value, DType::f32, {1});
  for (const int rank : {-1, max_rank + 1, 9}) {
    view.rank = rank;
    const std::string text = std::to_string(rank);
    EXPECT_EQ(to_string(view), "float32 of rank " + text + " on cpu:0");
    const TensorView one = TensorView::contiguous(&value, DType::f32, {1});
    EXPECT_EQ(message_of([&] { rms_norm(view, one, one, {}); }),
              "rmsnorm: 'input' is of rank " + text + "; accepted: rank 0 to 6");
  }
}

TEST(TensorView, WithoutDataIsNamed) {
  std::vector<float> values(8, 1.0F);
  const TensorView x = TensorView::contiguous(values.data(), DType::f32, {2, 4});
  const TensorView weight = TensorView::contiguous(values.data(), DType::f32, {4});
  const std::string accepted = "; accepted: a tensor with data";
  EXPECT_EQ(message_of([&] { rms_norm(absent(DType::f32, {2, 4}), weight, x, {}); }),
            "rmsnorm: 'input' is without data, though it has 8 elements" + accepted);
  EXPECT_EQ(message_of([&] { rms_norm(x, absent(DType::f32, {4}), x, {}); }),
            "rmsnorm: 'weight' is without data, though it has 4 elements" + accepted);
  EXPECT_EQ(message_of([&] { rms_norm(x, weight, absent(DType::f32, {2, 4}), {}); }),
            "rmsnorm: 'out' is without data, though it has 8 elements" + accepted);
  EXPECT_NO_THROW(rms_norm(absent(DType::f32, {0, 4}), weight, absent(DType::f32, {0, 4}), {}));
}

struct OneToken {
  std::vector<float> values = std::vector<float>(64, 1.0F);
  std::vector<std::int32_t> offsets{0, 1};
  AttentionOptions options;
  TensorView indptr = TensorView::contiguous(offsets.data(), DType::i32, {2});
  TensorView row = TensorView::contiguous(values.data(), DType::f32, {1, 1, 64});

  OneToken() {
    options.num_qo_heads = options.num_kv_heads = 1;
    options.head_dim_qk = 64;
    options.q_dtype = options.kv_dtype = options.o_dtype = DType::f32;
  }
};

TEST(TensorView, WithoutDataIsNamedByAttention) {
  OneToken one;
  BatchAttention attention;
  const TensorView no_indptr = absent(DType::i32, {2}), no_row = absent(DType::f32, {1, 1, 64});
  EXPECT_EQ(message_of([&] { attention.plan(one.options, no_indptr, one.indptr); }),
            "attention plan: 'qo_indptr' is without data, though it has 2 elements; accepted: a "
            "tensor with data");
  attention.plan(one.options, one.indptr, one.indptr);
  const std::vector<std::pair<std::string, TensorView AttentionTensors::*>> places = {
      {"q", &AttentionTensors::q},
      {"k", &AttentionTensors::k},
      {"v", &AttentionTensors::v},
      {"out", &AttentionTensors::out},
  };
  for (const auto& [name, place] : places) {
    AttentionTensors tensors{.q = one.row, .k = one.row, .v = one.row, .out = one.row};
    tensors.*place = no_row;
    EXPECT_EQ(message_of([&] { attention.run(tensors); }),
              "attention: '" + name +
                  "' is without data, though it has 64 elements; accepted: a tensor with data");
  }
  AttentionTensors tensors{.q = one.row, .k = one.row, .v = one.row, .out = one.row};
  tensors.lse = absent(DType::f32, {1, 1});
  EXPECT_EQ(message_of([&] { attention.run(tensors); }),
            "attention: 'lse' is without data, though it has 1 elements; accepted: a tensor with "
            "data");
}

}  // namespace
}  // namespace wavefire
