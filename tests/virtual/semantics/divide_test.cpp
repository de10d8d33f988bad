// Division's helpers by the division that LLVM makes of them, exponents and fractions by std.
#include "virtual/semantics/divide.h"

#include <gtest/gtest.h>

#include "reference.h"
#include "virtual/semantics/transcendental.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

float reciprocal(float x) { return v_rcp_f32(x); }
double reciprocal(double x) { return v_rcp_f64(x); }

// LLVM, AMDGPULegalizerInfo::legalizeFDIV32 and legalizeFDIV64.
float divide(float n, float d) {
  const auto denominator = div_scale(d, d, n), numerator = div_scale(n, d, n);
  const float minus = -denominator.value, estimate = reciprocal(denominator.value);
  const float error = std::fma(minus, estimate, 1.0f);
  const float better = std::fma(error, estimate, estimate);
  const float quotient = numerator.value * better;
  const float rest = std::fma(minus, quotient, numerator.value);
  const float closer = std::fma(rest, better, quotient);
  const float last = std::fma(minus, closer, numerator.value);
  return div_fixup(div_fmas(last, better, closer, numerator.flag), d, n);
}
double divide(double n, double d) {
  const auto denominator = div_scale(d, d, n), numerator = div_scale(n, d, n);
  const double minus = -denominator.value, estimate = reciprocal(denominator.value);
  const double error = std::fma(minus, estimate, 1.0);
  const double better = std::fma(error, estimate, estimate);
  const double error2 = std::fma(minus, better, 1.0);
  const double best = std::fma(better, error2, better);
  const double quotient = numerator.value * best;
  const double rest = std::fma(minus, quotient, numerator.value);
  return div_fixup(div_fmas(rest, best, quotient, numerator.flag), d, n);
}

template <class T>
void expect_quotient(T n, T d) {
  const T actual = divide(n, d), expected = n / d;
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(actual)) << n << " / " << d;
    return;
  }
  // Subnormal quotients are rounded twice by v_div_fmas's scaling.
  const bool subnormal = std::fabs(expected) < std::numeric_limits<T>::min();
  const T slack = subnormal ? std::numeric_limits<T>::denorm_min() : T{0};
  if (slack == 0 || std::fabs(actual - expected) > slack) {
    ASSERT_EQ(bits_of(actual), bits_of(expected)) << n << " / " << d;
  }
}

TEST(Divide, F32) {
  const std::vector<float> numbers = telling_floats(6);
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    expect_quotient(numbers[random() % numbers.size()], numbers[random() % numbers.size()]);
  }
  for (const float n : {0.0f, -0.0f, 1.0f, -3.0f, HUGE_VALF, -HUGE_VALF, 0x1p-149f, 0x1p127f}) {
    for (const float d : {0.0f, -0.0f, 1.0f, -3.0f, HUGE_VALF, -HUGE_VALF, 0x1p-149f, 0x1p127f}) {
      expect_quotient(n, d);
    }
  }
  EXPECT_TRUE(std::isnan(divide(float_of(0x7f800001u), 1.0f)));
}

TEST(Divide, F64) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000000; ++i) {
    expect_quotient(double_of(random()), double_of(random()));
  }
}

TEST(Divide, FixupF16) {
  const ReferenceFormat format(f16_format);
  std::mt19937 random(3);
  for (u32 n = 0; n < 0x10000; ++n) {
    for (const u32 d : {0u, 0x8000u, 0x3c00u, 0xc000u, 0x7c00u, 0xfc00u, 0x7e00u,
                        static_cast<u32>(random() & 0xffff)}) {
      const double exact = format.value(n) / format.value(d);
      const u16 quotient = f16_of_f32(static_cast<float>(std::fabs(exact)));
      const u16 actual = v_div_fixup_f16(quotient, static_cast<u16>(d), static_cast<u16>(n));
      if (std::isnan(exact)) {
        ASSERT_TRUE(is_nan_f16(actual)) << n << " " << d;
      } else {
        ASSERT_EQ(actual, (quotient & 0x7fff) | (std::signbit(exact) ? 0x8000 : 0))
            << n << " " << d;
      }
    }
  }
}

TEST(Divide, Ldexp) {
  for (const float x : telling_floats(10)) {
    for (const i32 n : {0, 1, -1, 23, -23, 100, -100, 149, -149, 277, -277, 400, -400, 1 << 30,
                        -(1 << 30), std::numeric_limits<i32>::min()}) {
      const float expected = std::ldexp(x, std::max(std::min(n, 1000), -1000));
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(v_ldexp_f32(x, n)));
      } else {
        ASSERT_EQ(bits_of(v_ldexp_f32(x, n)), bits_of(expected)) << x << " " << n;
      }
      const double wide = static_cast<double>(x);
      if (!std::isnan(x)) {
        ASSERT_EQ(v_ldexp_f64(wide, n), std::ldexp(wide, std::max(std::min(n, 3000), -3000)));
      }
    }
  }
  const ReferenceFormat format(f16_format);
  for (u32 code = 0; code < 0x10000; ++code) {
    for (const int n : {0, 1, -1, 10, -10, 24, -24, 40, -41, 300, -300, 32767, -32768}) {
      const double exact = std::ldexp(format.value(code), std::max(std::min(n, 100), -100));
      const u16 actual = v_ldexp_f16(static_cast<u16>(code), static_cast<i16>(n));
      if (std::isnan(exact)) {
        ASSERT_TRUE(is_nan_f16(actual));
      } else {
        ASSERT_EQ(actual, f16_of_f32(static_cast<float>(exact))) << code << " " << n;
      }
    }
  }
}

TEST(Divide, Frexp) {
  for (const float x : telling_floats(50)) {
    int exponent = 0;
    const float mantissa = std::frexp(x, &exponent);
    if (!std::isfinite(x)) {
      ASSERT_EQ(bits_of(v_frexp_mant_f32(x)), bits_of(x));
      ASSERT_EQ(v_frexp_exp_i32_f32(x), 0);
      ASSERT_EQ(v_frexp_exp_i32_f64(static_cast<double>(x)), 0);
    } else {
      ASSERT_EQ(bits_of(v_frexp_mant_f32(x)), bits_of(mantissa)) << x;
      ASSERT_EQ(v_frexp_exp_i32_f32(x), exponent) << x;
      ASSERT_EQ(v_frexp_mant_f64(static_cast<double>(x)), static_cast<double>(mantissa));
      ASSERT_EQ(v_frexp_exp_i32_f64(static_cast<double>(x)), exponent);
    }
  }
  const ReferenceFormat format(f16_format);
  for (u32 code = 0; code < 0x10000; ++code) {
    const u16 half = static_cast<u16>(code);
    if ((code & 0x7c00) == 0x7c00) {
      ASSERT_EQ(v_frexp_mant_f16(half), half);
      ASSERT_EQ(v_frexp_exp_i16_f16(half), 0);
      continue;
    }
    int exponent = 0;
    const double mantissa = std::frexp(format.value(code), &exponent);
    ASSERT_EQ(format.value(v_frexp_mant_f16(half)), mantissa);
    ASSERT_EQ(v_frexp_exp_i16_f16(half), exponent);
  }
}

TEST(Divide, Fractions) {
  for (const float x : telling_floats(50)) {
    const float y = v_fract_f32(x);
    if (!std::isfinite(x)) {
      ASSERT_TRUE(std::isnan(y) || std::isinf(x));
      continue;
    }
    const double exact = static_cast<double>(x) - std::floor(static_cast<double>(x));
    ASSERT_GE(y, 0.0f);
    ASSERT_LT(y, 1.0f);
    ASSERT_NEAR(y, exact, 0x1p-24) << x;
    ASSERT_EQ(v_fract_f64(static_cast<double>(x)), exact < 1 ? exact : 0x1.fffffffffffffp-1);
  }
  const ReferenceFormat format(f16_format);
  for (u32 code = 0; code < 0x10000; ++code) {
    const u16 half = static_cast<u16>(code);
    const double x = format.value(code);
    if (!std::isfinite(x)) continue;
    const auto rounded = [&](double y) { return f16_of_f32(static_cast<float>(y)); };
    ASSERT_EQ(v_floor_f16(half), rounded(std::floor(x)));
    ASSERT_EQ(v_ceil_f16(half), rounded(std::ceil(x)));
    ASSERT_EQ(v_trunc_f16(half), rounded(std::trunc(x)));
    ASSERT_EQ(v_rndne_f16(half), rounded(std::nearbyint(x)));
    const u16 fraction = v_fract_f16(half);
    ASSERT_LT(fraction, 0x3c00);
    ASSERT_NEAR(format.value(fraction), x - std::floor(x), 0x1p-11) << x;
  }
}

// The digits add up to 2 / pi; those of larger arguments start later.
TEST(Divide, DigitsOfTwoOverPi) {
  constexpr long double two_over_pi = 0.63661977236758134307553505349005744814L;
  long double sum = 0;
  for (u32 segment = 0; segment < 3; ++segment) sum += v_trig_preop_f64(1.0, segment);
  EXPECT_NEAR(static_cast<double>(sum - two_over_pi), 0.0, 0x1p-62);
  // 2^60: bits from 6 on, at their place.
  const double late = v_trig_preop_f64(0x1p60, 0), early = v_trig_preop_f64(1.0, 0);
  const double cut = std::ldexp(std::fmod(early, 0x1p-6), 0);
  EXPECT_NEAR(late, cut, 0x1p-53);
  EXPECT_EQ(v_trig_preop_f64(0x1p1000, 1), std::ldexp(v_trig_preop_f64(0x1p1000, 1), 0));
  EXPECT_EQ(v_trig_preop_f64(1.0, 31), 0.0);  // beyond the 1201 bits
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
