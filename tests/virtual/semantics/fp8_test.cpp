// Stochastic rounding and scaled conversions.
#include "virtual/semantics/fp8.h"

#include <gtest/gtest.h>

#include "reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

// Over all seeds, the mean is the number itself, and only its neighbours occur.
template <Format format>
void check_stochastic(double lowest, double highest) {
  const ReferenceFormat reference(format);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> logarithm(std::log2(lowest), std::log2(highest));
  constexpr int element_bits = 23 - format.mantissa;
  for (int t = 0; t < 12; ++t) {
    const float x = static_cast<float>(std::exp2(logarithm(random))) * (t % 2 == 0 ? 1.0f : -1.0f);
    const auto below = reference.directed(std::fabs(x), false).magnitude;
    const auto above = reference.directed(std::fabs(x), true).magnitude;
    double sum = 0;
    const u32 seeds = 1u << element_bits;
    for (u32 seed = 0; seed < seeds; ++seed) {
      const u32 code =
          narrow_stochastic<format>(x, seed << (32 - element_bits) | (random() & 0x1ff));
      const u32 magnitude = code & (format.sign() - 1);
      ASSERT_TRUE(magnitude == below || magnitude == above) << x << " " << code;
      sum += reference.value(code);
    }
    const double unit = reference.values()[above] - reference.values()[below];
    ASSERT_NEAR(sum / seeds, x, unit * 0x1p-18) << x;
  }
}

TEST(Fp8, StochasticRoundingIsUnbiased) {
  check_stochastic<e4m3_format>(0x1p-6, 256);
  check_stochastic<e5m2_format>(0x1p-14, 32768);
  check_stochastic<e4m3_fnuz_format>(0x1p-7, 128);
  check_stochastic<e5m2_fnuz_format>(0x1p-15, 32768);
  check_stochastic<f16_format>(0x1p-14, 32768);
  check_stochastic<bf16_format>(0x1p-126, 0x1p120);
  check_stochastic<e2m3_format>(1, 7);
  check_stochastic<e2m1_format>(1, 5);
}

template <Format format>
void check_stochastic_ends() {
  const ReferenceFormat reference(format);
  std::mt19937 random(2);
  for (const float x : telling_floats(20)) {
    for (const u32 seed : {0u, 0xffffffffu, static_cast<u32>(random())}) {
      const u32 code = narrow_stochastic<format>(x, seed, Overflow::saturate);
      if (!std::isfinite(x)) {
        ASSERT_EQ(code, narrow<format>(x, Overflow::saturate));
        continue;
      }
      const double actual = std::fabs(reference.value(code));
      const double size = std::fabs(static_cast<double>(x));
      const auto below = reference.directed(size, false), above = reference.directed(size, true);
      const double high = reference.values()[above.overflow ? format.largest() : above.magnitude];
      ASSERT_TRUE(actual == reference.values()[below.magnitude] || actual == high) << x;
      if (seed == 0) {
        ASSERT_EQ(actual, reference.values()[below.magnitude]) << x;
      }
    }
  }
}

TEST(Fp8, StochasticRoundingEverywhere) {
  check_stochastic_ends<e4m3_format>();
  check_stochastic_ends<e5m2_format>();
  check_stochastic_ends<e4m3_fnuz_format>();
  check_stochastic_ends<e5m2_fnuz_format>();
  check_stochastic_ends<e2m3_format>();
  check_stochastic_ends<e3m2_format>();
  check_stochastic_ends<e2m1_format>();
  check_stochastic_ends<f16_format>();
  check_stochastic_ends<bf16_format>();
}

// Every code times every power, against f64.
template <Format format>
void check_widen_scaled() {
  const ReferenceFormat reference(format);
  for (u32 field = 0; field < 255; ++field) {
    const float scale = float_of(field << 23 | 0x123456u);  // its mantissa does not matter
    for (u32 code = 0; code < 2 * format.sign(); ++code) {
      const float actual = widen_scaled<format>(code, scale);
      const double exact = std::ldexp(reference.value(code), static_cast<int>(field) - 127);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(actual));
      } else {
        ASSERT_EQ(actual, static_cast<float>(exact)) << field << " " << code;
      }
    }
  }
  EXPECT_TRUE(std::isnan(widen_scaled<format>(1, HUGE_VALF)));
}

TEST(Fp8, WidenScaled) {
  check_widen_scaled<e4m3_format>();
  check_widen_scaled<e5m2_format>();
  check_widen_scaled<e2m3_format>();
  check_widen_scaled<e3m2_format>();
  check_widen_scaled<e2m1_format>();
}

template <Format format>
void check_narrow_scaled() {
  const ReferenceFormat reference(format);
  for (const float x : telling_floats(6)) {
    if (!std::isfinite(x)) continue;
    for (const u32 field : {0u, 1u, 100u, 126u, 127u, 128u, 150u, 253u, 254u}) {
      const u32 code = narrow_scaled<format>(x, float_of(field << 23), Overflow::saturate);
      const double exact = std::ldexp(static_cast<double>(x), 127 - static_cast<int>(field));
      const auto expected = reference.nearest(std::fabs(exact));
      const u32 magnitude = expected.overflow ? format.largest() : expected.magnitude;
      ASSERT_EQ(code & (format.sign() - 1), magnitude) << x << " / 2^" << field << " - 127";
    }
  }
}

TEST(Fp8, NarrowScaled) {
  check_narrow_scaled<e4m3_format>();
  check_narrow_scaled<e5m2_format>();
  check_narrow_scaled<e2m3_format>();
  check_narrow_scaled<e3m2_format>();
  check_narrow_scaled<e2m1_format>();
}

TEST(Fp8, BytesAndSixBits) {
  EXPECT_EQ(pack_bytes<e4m3_format>(1.0f, -2.0f), 0xc038u);
  EXPECT_EQ(f32_of_byte<e4m3_format>(0xc0380000u, 2), 1.0f);
  EXPECT_EQ(insert_byte(0x11223344u, 2, 0xaa), 0x11aa3344u);
  EXPECT_EQ(insert_half(0x11223344u, true, 0xaabb), 0xaabb3344u);
  EXPECT_EQ(insert_half(0x11223344u, false, 0xaabb), 0x1122aabbu);
  u32 words[6] = {};
  for (u32 i = 0; i < 32; ++i) put_six_bits(words, i, (i * 37 + 5) & 63);
  for (u32 i = 0; i < 32; ++i) EXPECT_EQ(six_bits(words, i), (i * 37 + 5) & 63) << i;
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
