// Rotary embedding over a table of dtypes, head dims, layouts and sources of angles, against
// float64.
#include <gtest/gtest.h>

#include "cases/rows.h"
#include "reference/rows.h"
#include "tolerance/tolerance.h"
#include "wavefire/rope.h"

namespace wavefire::cases {
namespace {

constexpr std::int64_t head_dims[] = {2, 6, 40, 64, 80, 128, 256};
const std::vector<std::int32_t> positions = {0, 1, 77, 4095, 131071, 999999};
constexpr std::int64_t tokens = 6;
enum Source { plain, scaled, llama31, cache_f32, cache_bf16, sources };

/// Cosine and sine of pair i at token t.
struct Angles {
  std::vector<std::vector<double>> cosine, sine;
  double error = tolerance::sincos_error;
};

struct Case {
  DType q_dtype, k_dtype;
  std::int64_t head_dim, q_heads, k_heads;
  RopeOptions options;
  Source source;
  Layout layout;
  bool in_place;
};

Angles angles_of(const Case& c, int rotary_dim) {
  const RopeParameters& p = c.options.frequencies;
  const reference::Values f = reference::frequencies(
      rotary_dim, double{p.theta}, double{p.scale}, double{p.low_freq_factor},
      double{p.high_freq_factor}, double{p.old_context_len});
  Angles angles;
  for (std::int32_t position : positions) {
    angles.cosine.emplace_back();
    angles.sine.emplace_back();
    for (double frequency : f) {
      angles.cosine.back().push_back(std::cos(position * frequency));
      angles.sine.back().push_back(std::sin(position * frequency));
    }
  }
  return angles;
}

/// A table of angles for token t at row 10 + 3 t, NaN elsewhere.
HostTensor table_of(Angles& angles, int rotary_dim, DType dtype) {
  HostTensor table(dtype, {32, rotary_dim}, {rotary_dim + 5, 1});
  table.fill(std::numeric_limits<double>::quiet_NaN());
  const std::int64_t pairs = rotary_dim / 2;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const auto at = [&](std::vector<std::vector<double>>& v) -> double& {
        return v[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)];
      };
      set(table.view(), {10 + 3 * t, i}, at(angles.cosine));
      set(table.view(), {10 + 3 * t, pairs + i}, at(angles.sine));
      at(angles.cosine) = get(table.view(), {10 + 3 * t, i});
      at(angles.sine) = get(table.view(), {10 + 3 * t, pairs + i});
    }
  }
  angles.error = 0;
  return table;
}

void expect_rotated(const Case& c, const Angles& angles, int rotary_dim, const TensorView& before,
                    const TensorView& after) {
  const std::int64_t pairs = rotary_dim / 2;
  for (std::int64_t t = 0; t < before.shape[0]; ++t) {
    for (std::int64_t h = 0; h < before.shape[1]; ++h) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const std::int64_t first = c.options.interleaved ? 2 * i : i;
        const std::int64_t second = c.options.interleaved ? 2 * i + 1 : i + pairs;
        const reference::Pair in{get(before, {t, h, first}), get(before, {t, h, second})};
        const reference::Pair out = reference::rotate(
            in, angles.cosine[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)],
            angles.sine[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)]);
        const double size = std::fabs(in.a) + std::fabs(in.b);
        ASSERT_NEAR(get(after, {t, h, first}), out.a,
                    tolerance::rotated(before.dtype, out.a, size, angles.error));
        ASSERT_NEAR(get(after, {t, h, second}), out.b,
                    tolerance::rotated(before.dtype, out.b, size, angles.error));
      }
      for (std::int64_t d = rotary_dim; d < c.head_dim; ++d) {
        ASSERT_EQ(get(after, {t, h, d}), get(before, {t, h, d})) << "a dimension behind";
      }
    }
  }
}

void run_case(const Case& c, std::mt19937& random) {
  const int rotary_dim =
      c.options.rotary_dim == 0 ? static_cast<int>(c.head_dim) : c.options.rotary_dim;
  Angles angles = angles_of(c, rotary_dim);
  const HostTensor q = random_tensor(c.q_dtype, {tokens, c.q_heads, c.head_dim}, c.layout, random);
  const HostTensor k = random_tensor(c.k_dtype, {tokens, c.k_heads, c.head_dim}, c.layout, random);
  const HostTensor q_other =
      random_tensor(c.q_dtype, {tokens, c.q_heads, c.head_dim}, Layout::gaps, random);
  const HostTensor k_other =
      random_tensor(c.k_dtype, {tokens, c.k_heads, c.head_dim}, Layout::gaps, random);
  HostTensor q_before(c.q_dtype, {tokens, c.q_heads, c.head_dim});
  HostTensor k_before(c.k_dtype, {tokens, c.k_heads, c.head_dim});
  for_elements({tokens, c.q_heads, c.head_dim},
               [&](const auto& i) { set(q_before.view(), i, get(q.view(), i)); });
  for_elements({tokens, c.k_heads, c.head_dim},
               [&](const auto& i) { set(k_before.view(), i, get(k.view(), i)); });
  const TensorView q_out = c.in_place ? q.view() : q_other.view();
  const TensorView k_out = c.in_place ? k.view() : k_other.view();
  if (c.source >= cache_f32) {
    const HostTensor table =
        table_of(angles, rotary_dim, c.source == cache_f32 ? DType::f32 : DType::bf16);
    const HostTensor rows = HostTensor::of(std::vector<std::int32_t>{10, 13, 16, 19, 22, 25});
    apply_rope_with_cache(q.view(), k.view(), rows.view(), table.view(), q_out, k_out, c.options);
  } else {
    const HostTensor at = HostTensor::of(positions);
    apply_rope(q.view(), k.view(), at.view(), q_out, k_out, c.options);
  }
  expect_rotated(c, angles, rotary_dim, q_before.view(), q_out);
  expect_rotated(c, angles, rotary_dim, k_before.view(), k_out);
  expect_gaps_untouched(c.in_place ? q : q_other);
  expect_gaps_untouched(c.in_place ? k : k_other);
}

TEST(Rope, AgreesWithTheDefinition) {
  std::mt19937 random(1);
  for_covering({3, 3, 7, 3, 2, sources, 3, 2}, [&](const std::vector<int>& v) {
    Case c;
    c.q_dtype = value_dtypes[v[0]];
    c.k_dtype = value_dtypes[v[1]];
    c.head_dim = head_dims[v[2]];
    const int partial[] = {0, 2, static_cast<int>(c.head_dim) / 4 * 2};
    c.options.rotary_dim = std::max(partial[v[3]], v[3] == 2 ? 2 : 0);
    c.options.interleaved = v[4] == 1;
    c.source = static_cast<Source>(v[5]);
    c.layout = layouts[v[6]];
    c.in_place = v[7] == 1;
    c.q_heads = 3;
    c.k_heads = 1 + v[0];
    if (c.source == scaled) c.options.frequencies = {4.f, 5e5f, 0.f, 0.f, 0.f};
    if (c.source == llama31) c.options.frequencies = {8.f, 5e5f, 1.f, 4.f, 8192.f};
    run_case(c, random);
  });
}

TEST(Rope, AUnitVector) {
  for (bool interleaved : {false, true}) {
    HostTensor q(DType::f32, {1, 1, 128});
    set(q.view(), {0, 0, 0}, 1);
    const HostTensor one = HostTensor::of(std::vector<std::int32_t>{1});
    apply_rope(q.view(), {}, one.view(), q.view(), {}, {.interleaved = interleaved});
    for (std::int64_t d = 0; d < 128; ++d) {
      const double expected = d == 0                        ? std::cos(1.0)
                              : d == (interleaved ? 1 : 64) ? std::sin(1.0)
                                                            : 0;
      EXPECT_NEAR(get(q.view(), {0, 0, d}), expected, 2e-7) << d;
    }
  }
}

TEST(Rope, FarPositionsKeepTheirAngles) {
  HostTensor q(DType::f32, {1, 1, 128});
  set(q.view(), {0, 0, 0}, 1);
  set(q.view(), {0, 0, 1}, 1);
  const HostTensor at = HostTensor::of(std::vector<std::int32_t>{131071});
  apply_rope(q.view(), {}, at.view(), q.view(), {}, {});
  EXPECT_NEAR(get(q.view(), {0, 0, 0}), -0.81798, 1e-5);
  EXPECT_NEAR(get(q.view(), {0, 0, 64}), -0.57524, 1e-5);
  EXPECT_NEAR(get(q.view(), {0, 0, 1}), -0.97827, 1e-5);
  EXPECT_NEAR(get(q.view(), {0, 0, 65}), -0.20733, 1e-5);
}

TEST(Rope, PositionsOfRequests) {
  const HostTensor indptr = HostTensor::of(std::vector<std::int32_t>{0, 3, 3, 5});
  const HostTensor offsets = HostTensor::of(std::vector<std::int32_t>{10, 7, 100});
  HostTensor at(DType::i32, {5});
  rope_positions(indptr.view(), offsets.view(), at.view());
  EXPECT_EQ(
      std::vector<std::int32_t>(at.view().as<std::int32_t>(), at.view().as<std::int32_t>() + 5),
      (std::vector<std::int32_t>{10, 11, 12, 100, 101}));
}

TEST(Rope, BadInputOfPositionsIsNamed) {
  const HostTensor indptr = HostTensor::of(std::vector<std::int32_t>{0, 3, 3, 5});
  const HostTensor offsets = HostTensor::of(std::vector<std::int32_t>{10, 7, 100});
  HostTensor at(DType::i32, {5});
  at.fill_bits(77);
  for (std::int64_t offset :
       {std::int64_t{-1}, std::int64_t{1} << 40, (std::int64_t{1} << 31) - 3}) {
    HostTensor far(DType::i64, {3});
    far.view().as<std::int64_t>()[0] = offset;
    expect_rejected("offsets", [&] { rope_positions(indptr.view(), far.view(), at.view()); });
  }
  const HostTensor last_is_bad = HostTensor::of(std::vector<std::int32_t>{0, 0, -1});
  expect_rejected("offsets", [&] { rope_positions(indptr.view(), last_is_bad.view(), at.view()); });
  EXPECT_EQ(at.view().as<std::int32_t>()[0], 77) << "nothing is written";
  expect_rejected("indptr", [&] {
    rope_positions(indptr.view(), offsets.view(),
                   changed(at.view(), [](auto& v) { v.shape[0] = 4; }));
  });
}

TEST(Rope, BadInputIsNamedAndNothingIsWritten) {
  HostTensor q(DType::bf16, {2, 3, 16}), k(DType::bf16, {2, 1, 16});
  q.fill(-7);
  k.fill(-7);
  const HostTensor good = HostTensor::of(std::vector<std::int32_t>{0, 3});
  const HostTensor negative = HostTensor::of(std::vector<std::int32_t>{0, -1});
  HostTensor table(DType::f32, {3, 16});
  const TensorView qv = q.view(), kv = k.view(), at = good.view();
  const auto run = [&](const TensorView& a, const TensorView& b, const TensorView& where,
                       RopeOptions options = {}) { apply_rope(a, b, where, a, b, options); };
  expect_rejected("q", [&] { run({}, kv, at); });
  expect_rejected("q", [&] { run(changed(qv, [](auto& v) { v.dtype = DType::i32; }), kv, at); });
  expect_rejected("q", [&] { run(changed(qv, [](auto& v) { v.strides[2] = 2; }), kv, at); });
  expect_rejected("k", [&] { run(qv, changed(kv, [](auto& v) { v.shape[0] = 1; }), at); });
  expect_rejected("k", [&] { run(qv, changed(kv, [](auto& v) { v.shape[2] = 8; }), at); });
  expect_rejected("positions", [&] { run(qv, kv, {}); });
  expect_rejected("positions", [&] { run(qv, kv, changed(at, [](auto& v) { v.shape[0] = 1; })); });
  expect_rejected("positions", [&] { run(qv, kv, negative.view()); });
  expect_rejected("rotary_dim", [&] { run(qv, kv, at, {.rotary_dim = 7}); });
  expect_rejected("rotary_dim", [&] { run(qv, kv, at, {.rotary_dim = 18}); });
  expect_rejected("q_out", [&] {
    apply_rope(qv, kv, at, changed(qv, [](auto& v) { v.strides[0] = 0; }), kv, {});
  });
  // The table has rows 0 to 2.
  expect_rejected("positions",
                  [&] { apply_rope_with_cache(qv, kv, at, table.view(), qv, kv, {}); });
  expect_rejected("cos_sin_cache", [&] {
    apply_rope_with_cache(qv, kv, at, changed(table.view(), [](auto& v) { v.shape[1] = 8; }), qv,
                          kv, {});
  });
  for (double v : values_of(qv)) ASSERT_EQ(v, -7);
  for (double v : values_of(kv)) ASSERT_EQ(v, -7);
}

}  // namespace
}  // namespace wavefire::cases
