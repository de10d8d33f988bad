// Gated activations over a table of dtypes, shapes and strides, and over all gates, against
// float64.
#include <gtest/gtest.h>

#include "cases/rows.h"
#include "reference/rows.h"
#include "tolerance/tolerance.h"
#include "wavefire/activation.h"

namespace wavefire::cases {
namespace {

constexpr GatedActivation kinds[] = {GatedActivation::silu, GatedActivation::gelu,
                                     GatedActivation::gelu_tanh};
using Function = double (*)(double);
constexpr Function references[] = {reference::silu, reference::gelu, reference::gelu_tanh};
constexpr std::int64_t widths[] = {1, 2, 5, 8, 15, 16, 17, 100, 127, 128, 129, 1111};
const std::vector<std::int64_t> outer_shapes[] = {{}, {1}, {4}, {2, 3}, {2, 1, 3}};

void expect_gated(DType dtype, int kind, const std::vector<double>& x,
                  const std::vector<double>& out, std::int64_t width) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t w = static_cast<std::size_t>(width);
    const double gate = x[i / w * 2 * w + i % w], up = x[i / w * 2 * w + w + i % w];
    const double expected = references[kind](gate) * up;
    ASSERT_LE(std::fabs(out[i] - expected), tolerance::gated(dtype, expected, gate, up, kind == 1))
        << "gate " << gate << " up " << up << ": " << out[i] << ", expected " << expected;
  }
}

TEST(GatedActivation, AgreesWithTheDefinition) {
  std::mt19937 random(1);
  for_covering({3, 3, 5, 12, 3, 2}, [&](const std::vector<int>& v) {
    const DType dtype = value_dtypes[v[1]];
    const std::int64_t width = widths[v[3]];
    std::vector<std::int64_t> shape = outer_shapes[v[2]], half;
    shape.push_back(2 * width);
    half = shape;
    half.back() = width;
    // Rows of several dimensions have to lie at one stride.
    const bool one_stride = shape.size() < 3;
    const Layout in = one_stride ? layouts[v[4]] : Layout::packed;
    const HostTensor x = random_tensor(dtype, shape, in, random, v[5] == 0 ? 1 : 4);
    const HostTensor out = random_tensor(dtype, half, Layout::gaps, random);
    gated_activation(kinds[v[0]], x.view(), out.view());
    expect_gated(dtype, v[0], values_of(x.view()), values_of(out.view()), width);
    expect_gaps_untouched(out);
  });
}

/// Every gate of the 16-bit types and a sweep of float32, between -20 and 20; up is 1.
TEST(GatedActivation, EveryGate) {
  for (DType dtype : value_dtypes) {
    std::vector<std::uint32_t> bits;
    const std::uint64_t step = dtype == DType::f32 ? 100003 : 1;
    for (std::uint64_t b = 0; b < 1ull << (8 * size_of(dtype)); b += step) {
      const auto word = static_cast<std::uint32_t>(b);
      if (std::fabs(reference::value_of_bits(dtype, word)) <= 20) bits.push_back(word);
    }
    const auto width = static_cast<std::int64_t>(bits.size());
    HostTensor x(dtype, {2 * width}), out(dtype, {width});
    x.fill(1);
    for (std::int64_t i = 0; i < width; ++i) {
      set_bits(x.view(), {i}, bits[static_cast<std::size_t>(i)]);
    }
    for (int kind = 0; kind < 3; ++kind) {
      gated_activation(kinds[kind], x.view(), out.view());
      expect_gated(dtype, kind, values_of(x.view()), values_of(out.view()), width);
    }
  }
}

TEST(GatedActivation, LargeGatesAndNan) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (DType dtype : value_dtypes) {
    for (int kind = 0; kind < 3; ++kind) {
      HostTensor x(dtype, {2 * 5}), out(dtype, {5});
      x.fill(1);
      const double gates[] = {60000, -60000, infinity, nan, -0.0};
      for (std::int64_t i = 0; i < 5; ++i) set(x.view(), {i}, gates[i]);
      gated_activation(kinds[kind], x.view(), out.view());
      const std::vector<double> y = values_of(out.view());
      EXPECT_NEAR(y[0], 60000, 256);
      EXPECT_EQ(y[1], 0);
      EXPECT_EQ(y[2], infinity);
      EXPECT_TRUE(std::isnan(y[3]));
      EXPECT_EQ(y[4], 0);
    }
  }
}

TEST(GatedActivation, ResultsLargerThanTheCaches) {
  std::mt19937 random(2);
  for (DType dtype : value_dtypes) {
    const std::int64_t rows = 1100, width = 8200;
    HostTensor x(dtype, {rows, 2 * width}, {0, 1});  // one row
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < 2 * width; ++i) set(x.view(), {0, i}, normal(random));
    HostTensor out(dtype, {rows, width}), one(dtype, {1, width});
    gated_activation(GatedActivation::silu, x.view(), out.view());
    gated_activation(GatedActivation::silu, changed(x.view(), [](auto& v) { v.shape[0] = 1; }),
                     one.view());
    const std::size_t bytes = one.bytes().size();
    for (std::int64_t row = 0; row < rows; row += 61) {
      ASSERT_EQ(std::memcmp(out.bytes().data() + row * static_cast<std::int64_t>(bytes),
                            one.bytes().data(), bytes),
                0);
    }
  }
}

TEST(GatedActivation, BadInputIsNamedAndNothingIsWritten) {
  HostTensor x(DType::bf16, {4, 6}), out(DType::bf16, {4, 3});
  out.fill(-7);
  const auto run = [](const TensorView& in, const TensorView& to) {
    gated_activation(GatedActivation::gelu, in, to);
  };
  const TensorView xv = x.view(), ov = out.view();
  expect_rejected("input", [&] { run({}, ov); });
  expect_rejected("input", [&] { run(changed(xv, [](auto& v) { v.shape[1] = 5; }), ov); });
  expect_rejected("input", [&] { run(changed(xv, [](auto& v) { v.strides[1] = 2; }), ov); });
  expect_rejected("input", [&] { run(changed(xv, [](auto& v) { v.dtype = DType::i32; }), ov); });
  expect_rejected("out", [&] { run(xv, {}); });
  expect_rejected("out", [&] { run(xv, changed(ov, [](auto& v) { v.shape[1] = 2; })); });
  expect_rejected("out", [&] { run(xv, changed(ov, [](auto& v) { v.dtype = DType::f16; })); });
  expect_rejected("out", [&] { run(xv, changed(ov, [](auto& v) { v.strides[0] = 0; })); });
  for (double v : values_of(ov)) ASSERT_EQ(v, -7);
  run(changed(xv, [](auto& v) { v.shape[0] = 0; }), changed(ov, [](auto& v) { v.shape[0] = 0; }));
}

}  // namespace
}  // namespace wavefire::cases
