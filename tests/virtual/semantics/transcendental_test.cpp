// Transcendentals, against f64: f32 on every exponent, f16 exhaustively.
#include "virtual/semantics/transcendental.h"

#include <gtest/gtest.h>

#include "reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
// The exact result rounds to within 1/2; the computation may add this.
constexpr double max_ulps = 0.501;

bool is_subnormal_or_zero(float x) { return (bits_of(x) & 0x7f800000u) == 0; }

TEST(Transcendental, ExpF32) {
  for (const float x : telling_floats(3000)) {
    const float y = v_exp_f32(x);
    const double exact = std::exp2(static_cast<double>(x));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(y));
    } else if (exact < 0x1p-126 && static_cast<float>(exact) < 0x1p-126f) {
      ASSERT_EQ(bits_of(y), 0u) << x;
    } else if (exact >= 0x1p128) {
      ASSERT_EQ(y, infinite) << x;
    } else {
      ASSERT_LE(ulps(y, exact), max_ulps) << x;
    }
  }
  for (float x = -126.0f; x < 128.0f; x += 0.0371f) {
    ASSERT_LE(ulps(v_exp_f32(x), std::exp2(static_cast<double>(x))), max_ulps) << x;
  }
  for (int n = -126; n < 128; ++n) {
    EXPECT_EQ(v_exp_f32(static_cast<float>(n)), std::ldexp(1.0f, n));
  }
}

TEST(Transcendental, LogF32) {
  for (const float x : telling_floats(3000)) {
    const float y = v_log_f32(x);
    if (std::isnan(x) || (x < 0 && !is_subnormal_or_zero(x))) {
      ASSERT_TRUE(std::isnan(y)) << x;
    } else if (is_subnormal_or_zero(x)) {
      ASSERT_EQ(y, -infinite) << x;
    } else if (std::isinf(x)) {
      ASSERT_EQ(y, infinite);
    } else {
      ASSERT_LE(ulps(y, std::log2(static_cast<double>(x))), max_ulps) << x;
    }
  }
  // Near 1, where the logarithm is small.
  for (u32 i = 0; i < 200000; i += 7) {
    for (const float x : {float_of(0x3f800000u + i), float_of(0x3f800000u - i)}) {
      ASSERT_LE(ulps(v_log_f32(x), std::log2(static_cast<double>(x))), max_ulps) << x;
    }
  }
  EXPECT_EQ(bits_of(v_log_f32(1.0f)), 0u);
}

template <class F, class G>
void check_reciprocal(F f, G exact_of, bool signed_zero) {
  for (const float x : telling_floats(2000)) {
    const float y = f(x);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(y));
    } else if (is_subnormal_or_zero(x)) {
      ASSERT_EQ(y, signed_zero ? std::copysign(infinite, x) : infinite) << x;
    } else {
      const double exact = exact_of(static_cast<double>(x));
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(y)) << x;
      } else if (std::fabs(exact) < 0x1p-126) {
        ASSERT_TRUE(y == 0 || std::fabs(y) == 0x1p-126f) << x;
        ASSERT_EQ(std::signbit(y), std::signbit(x));
      } else {
        ASSERT_LE(ulps(y, exact), max_ulps) << x;
      }
    }
  }
}

TEST(Transcendental, RcpF32) {
  check_reciprocal(v_rcp_f32, [](double x) { return 1 / x; }, true);
  check_reciprocal(v_rcp_iflag_f32, [](double x) { return 1 / x; }, true);
}
TEST(Transcendental, RsqF32) {
  check_reciprocal(v_rsq_f32, [](double x) { return 1 / std::sqrt(x); }, true);
}
TEST(Transcendental, SqrtF32) {
  for (const float x : telling_floats(2000)) {
    const float y = v_sqrt_f32(x);
    if (is_subnormal_or_zero(x)) {
      ASSERT_EQ(bits_of(y), bits_of(x) & 0x80000000u);
    } else if (std::isnan(x) || x < 0) {
      ASSERT_TRUE(std::isnan(y)) << x;
    } else if (std::isinf(x)) {
      ASSERT_EQ(y, x);
    } else {
      ASSERT_LE(ulps(y, std::sqrt(static_cast<double>(x))), max_ulps) << x;
    }
  }
}

TEST(Transcendental, SinAndCosF32) {
  // fmod is exact, and near a zero of the function the argument is reduced to it.
  const auto turn = [](double x) { return (x - std::nearbyint(x)) * 6.283185307179586476925; };
  for (const float x : telling_floats(500)) {
    const float s = v_sin_f32(x), c = v_cos_f32(x);
    if (!std::isfinite(x)) {
      ASSERT_TRUE(std::isnan(s) && std::isnan(c)) << x;
    } else if (std::fabs(x) > 256.0f) {
      ASSERT_EQ(bits_of(s), 0u) << x;
      ASSERT_EQ(c, 1.0f) << x;
    } else if (is_subnormal_or_zero(x)) {
      ASSERT_EQ(bits_of(s), bits_of(x) & 0x80000000u);
      ASSERT_EQ(c, 1.0f);
    } else {
      ASSERT_NEAR(s, std::sin(turn(x)), 0x1p-24) << x;
      ASSERT_NEAR(c, std::cos(turn(x)), 0x1p-24) << x;
    }
  }
  for (float x = -256.0f; x <= 256.0f; x += 0.125f) {
    const double exact = std::sin(turn(x));
    ASSERT_NEAR(v_sin_f32(x), exact, 0x1p-24) << x;
  }
  EXPECT_EQ(v_sin_f32(0.25f), 1.0f);
  EXPECT_EQ(v_sin_f32(0.5f), 0.0f);
  EXPECT_EQ(v_cos_f32(0.25f), 0.0f);
  EXPECT_EQ(v_cos_f32(0.5f), -1.0f);
}

// Every f16: within 0.51 of its last place.
template <class F, class G>
void check_f16(F f, G exact_of, const char* name) {
  const ReferenceFormat reference(f16_format);
  for (u32 code = 0; code < 0x10000; ++code) {
    const u16 actual = f(static_cast<u16>(code));
    const double exact = exact_of(reference.value(code));
    if (std::isnan(exact)) {
      ASSERT_TRUE(reference.is_nan(actual)) << name << " " << code;
      continue;
    }
    const double size = std::fabs(exact);
    if (size >= 65520.0) {
      ASSERT_EQ(actual & 0x7fff, 0x7c00) << name << " " << code;
      continue;
    }
    const double unit = std::ldexp(1.0, std::max(size == 0 ? -100 : std::ilogb(size), -14) - 10);
    ASSERT_LE(std::fabs(reference.value(actual) - exact), 0.51 * unit) << name << " " << code;
  }
}

TEST(Transcendental, EveryF16) {
  check_f16(v_exp_f16, [](double x) { return std::exp2(x); }, "exp");
  check_f16(v_log_f16, [](double x) { return std::log2(x); }, "log");
  check_f16(v_rcp_f16, [](double x) { return 1 / x; }, "rcp");
  check_f16(v_sqrt_f16, [](double x) { return std::sqrt(x); }, "sqrt");
  check_f16(v_rsq_f16, [](double x) { return x == 0 ? 1 / x : 1 / std::sqrt(x); }, "rsq");
  const auto reduced = [](double x) { return 6.283185307179586476925 * (x - std::nearbyint(x)); };
  const auto outside = [](double x) { return std::isfinite(x) && std::fabs(x) > 256; };
  check_f16(v_sin_f16, [&](double x) { return outside(x) ? 0 : std::sin(reduced(x)); }, "sin");
  check_f16(v_cos_f16, [&](double x) { return outside(x) ? 1 : std::cos(reduced(x)); }, "cos");
}

TEST(Transcendental, F64) {
  EXPECT_EQ(v_rcp_f64(3.0), 1.0 / 3.0);
  EXPECT_EQ(v_sqrt_f64(2.0), std::sqrt(2.0));
  EXPECT_EQ(v_rsq_f64(4.0), 0.5);
  EXPECT_TRUE(std::isnan(v_rsq_f64(-1.0)));
}

// The same bits at every level of the CPU: a digest of many results.
TEST(Transcendental, LevelsAgree) {
  u64 digest = 14695981039346656037u;
  const auto add = [&](float x) { digest = (digest ^ bits_of(x)) * 1099511628211u; };
  std::mt19937 random(5);
  for (int i = 0; i < 200000; ++i) {
    const float x = float_of(random() & 0x7fffffffu);
    const float small = static_cast<float>(static_cast<i32>(random())) * 0x1p-24f;
    if (std::isnan(x)) continue;
    add(v_exp_f32(small));
    add(v_log_f32(x));
    add(v_rcp_f32(x));
    add(v_rsq_f32(x));
    add(v_sqrt_f32(x));
    add(v_sin_f32(small));
    add(v_cos_f32(small));
  }
  EXPECT_EQ(digest, 15648726435855856070u);
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
