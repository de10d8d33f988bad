#include "wavefire/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "cases/host_tensor.h"
#include "wavefire/attention.h"
#include "wavefire/error.h"

namespace wavefire::cases {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// States of [tokens, heads, dim] and [tokens, heads].
struct State {
  State(DType dtype, std::int64_t tokens, std::int64_t heads, std::int64_t dim)
      : v(dtype, {tokens, heads, dim}), s(DType::f32, {tokens, heads}) {}
  State(double value, double lse) : State(DType::f32, 2, 3, 8) {
    v.fill(value);
    s.fill(lse);
  }
  HostTensor v, s;
};

void expect_state(const State& state, double value, double lse) {
  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::int64_t h = 0; h < 3; ++h) {
      for (std::int64_t d = 0; d < 8; ++d) ASSERT_EQ(get(state.v.view(), {t, h, d}), value);
      ASSERT_EQ(get(state.s.view(), {t, h}), lse);
    }
  }
}

State merged(const State& a, const State& b) {
  State out(nan, nan);
  merge_state(a.v.view(), a.s.view(), b.v.view(), b.s.view(), out.v.view(), out.s.view());
  return out;
}

TEST(Merge, EmptyStatesChangeNothingWhateverTheirValuesHold) {
  for (double value : {0.0, nan, infinity}) {
    const State empty(value, -infinity), full(3, 1.5);
    expect_state(merged(empty, empty), 0, -infinity);
    expect_state(merged(empty, full), 3, 1.5);
    expect_state(merged(full, empty), 3, 1.5);
  }
}

TEST(Merge, EqualWeightsGiveTheMean) {
  expect_state(merged(State(1, -7e4), State(3, -7e4)), 2, -69999);
  expect_state(merged(State(1, 100), State(3, 100)), 2, 101);
  expect_state(merged(State(1, 5), State(3, 500)), 3, 500);
}

TEST(Merge, NanIsNotTakenForEmpty) {
  for (const State& with_nan : {State(1, nan), State(nan, 0)}) {
    for (const State& other : {State(2, 0), State(0, -infinity)}) {
      for (const State& out : {merged(with_nan, other), merged(other, with_nan)}) {
        EXPECT_TRUE(std::isnan(get(out.v.view(), {0, 0, 0})));
      }
    }
  }
  EXPECT_TRUE(std::isnan(get(merged(State(1, nan), State(2, -infinity)).s.view(), {0, 0})));
}

TEST(Merge, InPlaceAndUnderAMask) {
  const State a(1, 2), b(3, 2);
  const HostTensor mask = HostTensor::of_bytes(DType::b1, {0, 1});
  merge_state(a.v.view(), a.s.view(), b.v.view(), b.s.view(), a.v.view(), a.s.view(), mask.view());
  EXPECT_EQ(get(a.v.view(), {0, 2, 7}), 1);
  EXPECT_EQ(get(a.s.view(), {0, 2}), 2);
  EXPECT_EQ(get(a.v.view(), {1, 2, 7}), 2);
  EXPECT_EQ(get(a.s.view(), {1, 2}), 3);
}

TEST(Merge, AnyNumberOfStatesNoneIncluded) {
  for (std::int64_t count : {0, 1, 2, 5}) {
    const HostTensor v(DType::f32, {2, count, 3, 8}), s(DType::f32, {2, count, 3});
    for (std::int64_t t = 0; t < 2; ++t) {
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t h = 0; h < 3; ++h) {
          set(s.view(), {t, i, h}, i == 1 ? -infinity : 4);
          for (std::int64_t d = 0; d < 8; ++d) {
            set(v.view(), {t, i, h, d}, i == 1 ? nan : static_cast<double>(i));
          }
        }
      }
    }
    const State out(nan, nan);
    merge_states(v.view(), s.view(), out.v.view(), out.s.view());
    if (count == 0) expect_state(out, 0, -infinity);
    if (count == 1 || count == 2) expect_state(out, 0, 4);
    if (count == 5) expect_state(out, 2.25, 6);
  }
}

TEST(Merge, AgreesWithFloat64InEveryTypeAndStride) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    constexpr std::int64_t tokens = 5, heads = 3, states = 4, dim = 40;
    const HostTensor v(dtype, {tokens, states, heads, dim}, {1000, 200, 48, 1});
    const HostTensor s(DType::f32, {tokens, states, heads}, {17, 4, 1});
    const HostTensor out(dtype, {tokens, heads, dim}, {300, 48, 1});
    const HostTensor lse(DType::f32, {tokens, heads}, {1, 7});
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t i = 0; i < states; ++i) {
        for (std::int64_t h = 0; h < heads; ++h) {
          set(s.view(), {t, i, h}, 3 * normal(random));
          for (std::int64_t d = 0; d < dim; ++d) set(v.view(), {t, i, h, d}, normal(random));
        }
      }
    }
    merge_states(v.view(), s.view(), out.view(), lse.view());
    const double rounding = dtype == DType::f32 ? 1e-6 : dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t h = 0; h < heads; ++h) {
        double total = 0;
        for (std::int64_t i = 0; i < states; ++i) total += std::exp2(get(s.view(), {t, i, h}));
        EXPECT_NEAR(get(lse.view(), {t, h}), std::log2(total), 1e-5);
        for (std::int64_t d = 0; d < dim; ++d) {
          double sum = 0;
          for (std::int64_t i = 0; i < states; ++i) {
            sum += std::exp2(get(s.view(), {t, i, h})) * get(v.view(), {t, i, h, d});
          }
          EXPECT_NEAR(get(out.view(), {t, h, d}), sum / total,
                      rounding * (1 + std::fabs(sum / total)));
        }
      }
    }
  }
}

/// Attention over all keys is the merge of attention over parts of them.
TEST(Merge, JoinsAttentionOverPartsOfTheKeys) {
  constexpr std::int64_t keys = 4096, heads = 2, dim = 64;
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const auto filled = [&](std::vector<std::int64_t> shape) {
    HostTensor tensor(DType::f32, shape);
    std::generate_n(tensor.view().as<float>(), tensor.view().size(),
                    [&] { return normal(random); });
    return tensor;
  };
  const HostTensor q = filled({3, heads, dim}), k = filled({keys, heads, dim});
  const HostTensor v = filled({keys, heads, dim});
  AttentionOptions o;
  o.num_qo_heads = o.num_kv_heads = heads;
  o.head_dim_qk = dim;
  o.q_dtype = o.kv_dtype = o.o_dtype = DType::f32;
  const auto attend = [&](std::int64_t begin, std::int64_t end) {
    State state(DType::f32, 3, heads, dim);
    AttentionTensors t;
    t.q = q.view();
    t.k = k.view();
    t.v = v.view();
    for (TensorView* rows : {&t.k, &t.v}) {
      rows->data = rows->as<float>() + begin * rows->strides[0];
      rows->shape[0] = end - begin;
    }
    t.out = state.v.view();
    t.lse = state.s.view();
    single_attention(o, t);
    return state;
  };
  const State whole = attend(0, keys);
  for (std::int64_t cut : {0, 1, 2048, 4096}) {
    const State a = attend(0, cut), b = attend(cut, keys);
    State joined(DType::f32, 3, heads, dim);
    merge_state(a.v.view(), a.s.view(), b.v.view(), b.s.view(), joined.v.view(), joined.s.view());
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t h = 0; h < heads; ++h) {
        EXPECT_NEAR(get(joined.s.view(), {t, h}), get(whole.s.view(), {t, h}), 1e-5);
        for (std::int64_t d = 0; d < dim; ++d) {
          EXPECT_NEAR(get(joined.v.view(), {t, h, d}), get(whole.v.view(), {t, h, d}), 1e-6);
        }
      }
    }
  }
}

TEST(Merge, BadInputIsNamedAndNothingIsWritten) {
  State a(1, 2), b(3, 2), out(-7, -7);
  const auto expect_error = [&](const char* argument, auto&& f) {
    try {
      f();
      ADD_FAILURE() << argument << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(std::string("'") + argument + "' is "),
                std::string::npos)
          << error.what();
    }
    expect_state(out, -7, -7);
  };
  const auto merge = [&](TensorView v_a, TensorView s_a, TensorView v_b, TensorView s_b,
                         TensorView v, TensorView s,
                         TensorView mask = {}) { merge_state(v_a, s_a, v_b, s_b, v, s, mask); };
  const auto with = [](TensorView view, auto&& change) {
    change(view);
    return view;
  };
  const TensorView va = a.v.view(), sa = a.s.view(), vb = b.v.view(), sb = b.s.view();
  const TensorView v = out.v.view(), s = out.s.view();
  expect_error("v_a", [&] { merge({}, sa, vb, sb, v, s); });
  expect_error("v_a",
               [&] { merge(with(va, [](auto& x) { x.dtype = DType::i32; }), sa, vb, sb, v, s); });
  expect_error("s_a",
               [&] { merge(va, with(sa, [](auto& x) { x.dtype = DType::f16; }), vb, sb, v, s); });
  expect_error("s_a", [&] { merge(va, with(sa, [](auto& x) { x.shape[1] = 2; }), vb, sb, v, s); });
  expect_error("v_b", [&] { merge(va, sa, with(vb, [](auto& x) { x.shape[0] = 1; }), sb, v, s); });
  expect_error("v_b",
               [&] { merge(va, sa, with(vb, [](auto& x) { x.strides[2] = 2; }), sb, v, s); });
  expect_error("s_b", [&] {
    merge(va, sa, vb, with(sb, [](auto& x) { x.device.type = DeviceType::hip; }), v, s);
  });
  expect_error("v", [&] { merge(va, sa, vb, sb, with(v, [](auto& x) { x.strides[0] = 0; }), s); });
  expect_error("s", [&] { merge(va, sa, vb, sb, v, with(s, [](auto& x) { x.rank = 1; })); });
  const HostTensor mask = HostTensor::of_bytes(DType::b1, {1, 1, 1});
  expect_error("mask", [&] { merge(va, sa, vb, sb, v, s, mask.view()); });
}

}  // namespace
}  // namespace wavefire::cases
