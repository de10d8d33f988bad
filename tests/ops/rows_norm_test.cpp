// Norms over a table of dtypes, shapes, strides and widths, against float64.
#include <gtest/gtest.h>

#include "cases/rows.h"
#include "reference/rows.h"
#include "tolerance/tolerance.h"
#include "wavefire/norm.h"

namespace wavefire::cases {
namespace {

using reference::Values;

constexpr std::int64_t widths[] = {1, 2, 7, 8, 15, 16, 17, 31, 64, 111, 127, 576, 1152, 3584, 4097};
const std::vector<std::int64_t> outer_shapes[] = {{1}, {5}, {2, 3}, {3, 1}};

struct Case {
  DType dtype, weight_dtype;
  Layout layout;
  std::vector<std::int64_t> shape;
  std::int64_t width;
};

Case case_of(const std::vector<int>& v) {
  Case c{value_dtypes[v[0]], value_dtypes[v[1]], layouts[v[2]], outer_shapes[v[3]], widths[v[4]]};
  c.shape.push_back(c.width);
  return c;
}

void for_cases(const std::vector<int>& more,
               const std::function<void(const Case&, const int*)>& f) {
  std::vector<int> sizes{3, 3, 3, 4, 15};
  sizes.insert(sizes.end(), more.begin(), more.end());
  for_covering(sizes, [&](const std::vector<int>& v) { f(case_of(v), v.data() + 5); });
}

/// Row i of a flat list of rows.
Values row_of(const Values& values, std::int64_t width, std::size_t i) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i) * width;
  return {begin, begin + width};
}

template <class F>
Values for_rows(const Values& x, std::int64_t width, F&& f) {
  Values all;
  for (std::size_t i = 0; i < x.size() / static_cast<std::size_t>(width); ++i) {
    const Values row = f(row_of(x, width, i));
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

TEST(RmsNorm, AgreesWithTheDefinition) {
  std::mt19937 random(1);
  for_cases({2, 2}, [&](const Case& c, const int* more) {
    const bool gemma = more[0] == 1, in_place = more[1] == 1;
    const HostTensor x = random_tensor(c.dtype, c.shape, c.layout, random, 3);
    const HostTensor w = random_tensor(c.weight_dtype, {c.width}, Layout::packed, random);
    const HostTensor other = random_tensor(c.dtype, c.shape, c.layout, random);
    const Values before = values_of(x.view()), weight = values_of(w.view());
    const HostTensor& out = in_place ? x : other;
    rms_norm(x.view(), w.view(), out.view(), {1e-5f, gemma ? 1.f : 0.f});
    const Values expected = for_rows(before, c.width, [&](const Values& row) {
      return reference::rms_norm(row, weight, double{1e-5f}, gemma);
    });
    expect_values(values_of(out.view()), expected,
                  [&](std::size_t, double e) { return tolerance::rms_norm(c.dtype, e, c.width); });
    expect_gaps_untouched(out);
  });
}

TEST(FusedAddRmsNorm, NormalisesTheUnroundedSum) {
  std::mt19937 random(2);
  for_cases({2}, [&](const Case& c, const int* more) {
    const HostTensor x = random_tensor(c.dtype, c.shape, c.layout, random);
    const HostTensor residual = random_tensor(c.dtype, c.shape, layouts[(*more + 1) % 3], random);
    const HostTensor w = random_tensor(c.weight_dtype, {c.width}, Layout::packed, random);
    const Values weight = values_of(w.view()), a = values_of(x.view());
    Values sum = values_of(residual.view()), rounded(sum);
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum[i] = double{static_cast<float>(a[i] + sum[i])};
      rounded[i] = reference::value_of_bits(c.dtype, reference::bits_of_value(c.dtype, sum[i]));
    }
    fused_add_rms_norm(x.view(), residual.view(), w.view(), {1e-6f, static_cast<float>(*more)});
    EXPECT_EQ(values_of(residual.view()), rounded);
    const Values expected = for_rows(sum, c.width, [&](const Values& row) {
      return reference::rms_norm(row, weight, double{1e-6f}, *more);
    });
    expect_values(values_of(x.view()), expected,
                  [&](std::size_t, double e) { return tolerance::rms_norm(c.dtype, e, c.width); });
    expect_gaps_untouched(x);
    expect_gaps_untouched(residual);
  });
}

TEST(LayerNorm, AgreesWithTheDefinition) {
  std::mt19937 random(3);
  for_cases({4, 2}, [&](const Case& c, const int* more) {
    const double offset = more[1] == 0 ? 0 : 10;
    const HostTensor x = random_tensor(c.dtype, c.shape, c.layout, random);
    for_elements(c.shape, [&](const auto& i) { set(x.view(), i, get(x.view(), i) + offset); });
    const HostTensor w = random_tensor(c.weight_dtype, {c.width}, Layout::packed, random);
    const HostTensor b =
        more[0] == 3 ? HostTensor()
                     : random_tensor(value_dtypes[more[0]], {c.width}, Layout::packed, random);
    const HostTensor out = random_tensor(c.dtype, c.shape, Layout::gaps, random);
    layer_norm(x.view(), w.view(), more[0] == 3 ? TensorView() : b.view(), out.view(), 1e-5f);
    const Values weight = values_of(w.view());
    const Values bias = more[0] == 3 ? Values() : values_of(b.view());
    Values magnitude;  // (|x| + mean |x|) scaled like the values
    const Values expected = for_rows(values_of(x.view()), c.width, [&](const Values& row) {
      double scale;
      const Values y = reference::layer_norm(row, weight, bias, double{1e-5f}, scale);
      Values absolute(row);
      for (double& v : absolute) v = std::fabs(v);
      const double level = reference::mean(absolute);
      for (std::size_t i = 0; i < row.size(); ++i) {
        magnitude.push_back((absolute[i] + level) * scale * (1 + std::fabs(weight[i])));
      }
      return y;
    });
    expect_values(values_of(out.view()), expected, [&](std::size_t i, double e) {
      const double added = bias.empty() ? 0 : bias[i % static_cast<std::size_t>(c.width)];
      return tolerance::layer_norm(c.dtype, e, added, magnitude[i], c.width);
    });
    expect_gaps_untouched(out);
  });
}

// Sums of ones are exact at every width: a lane that is dropped or counted twice shows.
TEST(Norm, OnesOfEveryWidth) {
  for (std::int64_t width = 1; width <= 300; ++width) {
    HostTensor x(DType::f32, {2, width}), w(DType::f32, {width}), out(DType::f32, {2, width});
    x.fill(1);
    w.fill(2);
    rms_norm(x.view(), w.view(), out.view(), {0.f, 0.f});
    for (double v : values_of(out.view())) ASSERT_EQ(v, 2) << width;
    layer_norm(x.view(), w.view(), w.view(), out.view(), 1.f);
    for (double v : values_of(out.view())) ASSERT_EQ(v, 2) << width;
  }
}

// A sum in float32 stops growing long before its row ends.
TEST(Norm, WideRowsKeepTheirPrecision) {
  constexpr std::int64_t width = (1 << 22) + 5;
  HostTensor x(DType::f32, {1, width}), w(DType::f32, {width}), out(DType::f32, {1, width});
  x.fill(double{1.1f});
  w.fill(1);
  rms_norm(x.view(), w.view(), out.view(), {0.f, 0.f});
  for (std::int64_t i : {std::int64_t{0}, width / 2, width - 1}) {
    EXPECT_NEAR(get(out.view(), {0, i}), 1, 1e-6);
  }
  for (std::int64_t i = 0; i < width; i += 2) set(x.view(), {0, i}, -3);
  const double odd = static_cast<double>(width / 2) / width, even = 1 - odd;
  const double mean = even * -3 + odd * double{1.1f};
  const double variance = even * odd * (3 + double{1.1f}) * (3 + double{1.1f});
  layer_norm(x.view(), w.view(), {}, out.view(), 0.f);
  EXPECT_NEAR(get(out.view(), {0, 0}), (-3 - mean) / std::sqrt(variance), 2e-6);
  EXPECT_NEAR(get(out.view(), {0, 1}), (double{1.1f} - mean) / std::sqrt(variance), 2e-6);
}

// The result depends neither on where memory begins nor on whether it is written past the caches.
TEST(Norm, TheSameBitsWhereverTheRowsLie) {
  std::mt19937 random(4);
  const std::int64_t rows = 2100, width = 4096;  // more than 16 MiB
  // 64: rows begin at cache lines; 1: they do not. GPUs add up the latter in another order.
  for_covering({3, 2, 2}, [&](const std::vector<int>& v) {
    const DType dtype = value_dtypes[v[0]];
    const std::int64_t gap = v[2] == 0 || test_gpu() != nullptr ? 64 : 1;
    const HostTensor x = random_tensor(dtype, {7, width}, Layout::packed, random);
    const HostTensor w = random_tensor(dtype, {width}, Layout::packed, random);
    const auto run = [&](const TensorView& in, const TensorView& out) {
      v[1] == 0 ? rms_norm(in, w.view(), out) : layer_norm(in, w.view(), w.view(), out);
    };
    const TensorView many = changed(x.view(), [&](auto& view) {  // the same rows again and again
      view.rank = 3;
      std::copy_n(std::vector<std::int64_t>{rows / 7, 7, width}.begin(), 3, view.shape);
      std::copy_n(std::vector<std::int64_t>{0, width, 1}.begin(), 3, view.strides);
    });
    HostTensor small(dtype, {7, width});
    HostTensor large(dtype, {rows / 7, 7, width}, {7 * (width + gap), width + gap, 1});
    run(x.view(), small.view());
    run(many, large.view());
    const std::vector<double> expected = values_of(small.view());
    for (std::int64_t i : {std::int64_t{0}, std::int64_t{1}, rows / 7 - 1}) {
      const TensorView part = changed(large.view(), [&](auto& view) {
        view.data = view.template as<char>() + i * view.strides[0] * size_of(dtype);
        view.shape[0] = 1;
      });
      ASSERT_EQ(values_of(part), expected);
    }
  });
}

TEST(Norm, RowsAtStridesBeyond31Bits) {
  const std::int64_t stride = std::int64_t{1} << 31;
  std::mt19937 random(5);
  HostTensor x(DType::f16, {2, 128}, {stride, 1});  // committed lazily
  const HostTensor w = random_tensor(DType::f16, {128}, Layout::packed, random);
  for_elements({2, 128}, [&](const auto& i) {
    set(x.view(), i, std::sin(static_cast<double>(i[0] * 128 + i[1])));
  });
  HostTensor packed(DType::f16, {2, 128}), expected(DType::f16, {2, 128});
  for_elements({2, 128}, [&](const auto& i) { set(packed.view(), i, get(x.view(), i)); });
  rms_norm(packed.view(), w.view(), expected.view());
  rms_norm(x.view(), w.view(), x.view());
  EXPECT_EQ(values_of(x.view()), values_of(expected.view()));
}

TEST(Norm, NanStaysInItsRow) {
  for (std::int64_t bad = 0; bad < 3; ++bad) {
    HostTensor x(DType::bf16, {3, 100}), w(DType::f32, {100}), out(DType::bf16, {3, 100});
    x.fill(2);
    w.fill(1);
    set(x.view(), {bad, 37}, std::numeric_limits<double>::quiet_NaN());
    for (int kind = 0; kind < 2; ++kind) {
      if (kind == 0) rms_norm(x.view(), w.view(), out.view());
      if (kind == 1) layer_norm(x.view(), w.view(), {}, out.view());
      for_elements({3, 100}, [&](const auto& i) {
        ASSERT_EQ(std::isnan(get(out.view(), i)), i[0] == bad) << i[0] << " " << i[1];
      });
    }
  }
}

TEST(Norm, TensorsOfTwoDevicesAreNamed) {
  HostTensor x(DType::bf16, {4, 8}), w(DType::f32, {8}), out(DType::bf16, {4, 8});
  const auto elsewhere = [](TensorView view) {
    view.device = {DeviceType::cuda, 63};
    return view;
  };
  const auto run = [](const TensorView& a, const TensorView& b, const TensorView& c) {
    rms_norm(a, b, c);
  };
  expect_rejected("weight", [&] { run(x.view(), elsewhere(w.view()), out.view()); });
  expect_rejected("weight", [&] { run(elsewhere(x.view()), w.view(), elsewhere(out.view())); });
  expect_rejected("out", [&] { run(x.view(), w.view(), elsewhere(out.view())); });
  try {
    run(x.view(), elsewhere(w.view()), out.view());
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("on cuda:63"), std::string::npos) << text;
    EXPECT_NE(text.find(", where 'input' is"), std::string::npos) << text;
  }
  // All of them on a device that is not there: a driver's error or a number out of range.
  EXPECT_THROW(run(elsewhere(x.view()), elsewhere(w.view()), elsewhere(out.view())), Error);
}

TEST(Norm, BadInputIsNamedAndNothingIsWritten) {
  HostTensor x(DType::bf16, {4, 8}), w(DType::f32, {8}), out(DType::bf16, {4, 8});
  out.fill(-7);
  const TensorView xv = x.view(), wv = w.view(), ov = out.view();
  expect_rejected("input", [&] { rms_norm({}, wv, ov); });
  expect_rejected("input",
                  [&] { rms_norm(changed(xv, [](auto& v) { v.dtype = DType::e5m2; }), wv, ov); });
  expect_rejected("input", [&] { rms_norm(changed(xv, [](auto& v) { v.rank = 1; }), wv, ov); });
  expect_rejected("input",
                  [&] { rms_norm(changed(xv, [](auto& v) { v.strides[1] = 2; }), wv, ov); });
  expect_rejected("weight",
                  [&] { rms_norm(xv, changed(wv, [](auto& v) { v.shape[0] = 7; }), ov); });
  expect_rejected("weight",
                  [&] { rms_norm(xv, changed(wv, [](auto& v) { v.strides[0] = 2; }), ov); });
  expect_rejected("out", [&] { rms_norm(xv, wv, changed(ov, [](auto& v) { v.shape[0] = 3; })); });
  expect_rejected("out", [&] { rms_norm(xv, wv, changed(ov, [](auto& v) { v.strides[0] = 0; })); });
  expect_rejected("out",
                  [&] { rms_norm(xv, wv, changed(ov, [](auto& v) { v.dtype = DType::f16; })); });
  expect_rejected("eps", [&] { rms_norm(xv, wv, ov, {-1.f, 0.f}); });
  expect_rejected("residual", [&] { fused_add_rms_norm(xv, {}, wv); });
  expect_rejected("gamma", [&] { layer_norm(xv, {}, {}, ov); });
  expect_rejected("beta",
                  [&] { layer_norm(xv, wv, changed(wv, [](auto& v) { v.shape[0] = 9; }), ov); });
  for (double v : values_of(ov)) ASSERT_EQ(v, -7);
  rms_norm(changed(xv, [](auto& v) { v.shape[0] = 0; }), wv,
           changed(ov, [](auto& v) { v.shape[0] = 0; }));
}

}  // namespace
}  // namespace wavefire::cases
