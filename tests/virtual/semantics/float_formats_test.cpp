// Number formats, against formats enumerated from their definitions.
#include "virtual/semantics/float_formats.h"

#include <gtest/gtest.h>

#include "reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

template <Format tested_format>
void check_widen() {
  const ReferenceFormat reference(tested_format);
  for (u32 code = 0; code < 2 * tested_format.sign(); ++code) {
    const float actual = widen<tested_format>(code);
    const double expected = reference.value(code);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << code;
      ASSERT_NE(bits_of(actual) & 0x400000u, 0u) << "signalling " << code;
    } else {
      ASSERT_EQ(static_cast<double>(actual), expected) << code;
      ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << code;
    }
  }
}

TEST(FloatFormats, WidenEveryPattern) {
  check_widen<f16_format>();
  check_widen<bf16_format>();
  check_widen<e4m3_format>();
  check_widen<e5m2_format>();
  check_widen<e4m3_fnuz_format>();
  check_widen<e5m2_fnuz_format>();
  check_widen<e2m3_format>();
  check_widen<e3m2_format>();
  check_widen<e2m1_format>();
}

// Numbers, what lies half-way between them, and the f32 next to both.
std::vector<float> critical_floats(const ReferenceFormat& reference) {
  std::vector<float> numbers = telling_floats(40);
  const std::vector<double>& values = reference.values();
  for (size_t i = 0; i < values.size(); ++i) {
    const double next = i + 1 < values.size() ? values[i + 1] : reference.beyond();
    for (const double x : {values[i], values[i] + (next - values[i]) / 2}) {
      const float f = static_cast<float>(x);
      for (const float y : {std::nextafter(f, -1.0f), f, std::nextafter(f, HUGE_VALF)}) {
        numbers.push_back(y);
        numbers.push_back(-y);
      }
    }
  }
  return numbers;
}

// What a number becomes, by the definition of the rounding mode and of the format's top.
u32 expected_narrow(const ReferenceFormat& reference, float x, Round round, Overflow overflow) {
  const Format& f = reference.format();
  const bool negative = std::signbit(x);
  u32 sign = negative ? f.sign() : 0;
  const bool natural = overflow == Overflow::natural;
  const u32 infinite = f.top == Format::Top::ieee     ? f.infinity()
                       : f.top == Format::Top::finite ? f.largest()
                                                      : f.nan();
  u32 magnitude = 0;
  if (std::isnan(x)) {
    magnitude = f.top == Format::Top::finite ? f.largest() : f.nan();
  } else if (std::isinf(x)) {
    magnitude = infinite;
  } else {
    const double size = std::fabs(static_cast<double>(x));
    const bool away = round == Round::up ? !negative : round == Round::down && negative;
    const auto rounded =
        round == Round::nearest ? reference.nearest(size) : reference.directed(size, away);
    magnitude = rounded.overflow ? (natural ? infinite : f.largest()) : rounded.magnitude;
  }
  if (f.top == Format::Top::fnuz && (magnitude == 0 || magnitude == f.sign())) sign = 0;
  return magnitude | sign;
}

template <Format tested_format>
void check_narrow() {
  const ReferenceFormat reference(tested_format);
  for (const float x : critical_floats(reference)) {
    for (const Round round : {Round::nearest, Round::up, Round::down, Round::zero}) {
      for (const Overflow overflow : {Overflow::natural, Overflow::saturate}) {
        u32 actual = narrow<tested_format>(x, round, overflow);
        const u32 expected = expected_narrow(reference, x, round, overflow);
        if (std::isnan(x) && tested_format.mantissa >= 7) {
          ASSERT_TRUE(reference.is_nan(actual)) << bits_of(x);
          ASSERT_EQ(actual & expected, expected) << bits_of(x);
          continue;
        }
        ASSERT_EQ(actual, expected)
            << bits_of(x) << " = " << x << ", rounding " << static_cast<int>(round) << ", format e"
            << tested_format.exponent << "m" << tested_format.mantissa;
      }
    }
  }
}

TEST(FloatFormats, NarrowF16) { check_narrow<f16_format>(); }
TEST(FloatFormats, NarrowBf16) { check_narrow<bf16_format>(); }
TEST(FloatFormats, NarrowFp8) {
  check_narrow<e4m3_format>();
  check_narrow<e4m3_fnuz_format>();
}
TEST(FloatFormats, NarrowBf8) {
  check_narrow<e5m2_format>();
  check_narrow<e5m2_fnuz_format>();
}
TEST(FloatFormats, NarrowSixAndFourBits) {
  check_narrow<e2m3_format>();
  check_narrow<e3m2_format>();
  check_narrow<e2m1_format>();
}

template <Format tested_format>
void check_round_trip() {
  const ReferenceFormat reference(tested_format);
  for (u32 code = 0; code < 2 * tested_format.sign(); ++code) {
    if (reference.is_nan(code)) continue;
    ASSERT_EQ(narrow<tested_format>(widen<tested_format>(code)), code);
  }
}

TEST(FloatFormats, RoundTrip) {
  check_round_trip<f16_format>();
  check_round_trip<bf16_format>();
  check_round_trip<e4m3_format>();
  check_round_trip<e5m2_format>();
  check_round_trip<e4m3_fnuz_format>();
  check_round_trip<e5m2_fnuz_format>();
  check_round_trip<e2m3_format>();
  check_round_trip<e3m2_format>();
  check_round_trip<e2m1_format>();
}

TEST(FloatFormats, E8m0) {
  for (u32 code = 0; code < 255; ++code) {
    ASSERT_EQ(f32_of_e8m0(code), static_cast<float>(std::ldexp(1.0, static_cast<int>(code) - 127)));
  }
  EXPECT_TRUE(std::isnan(f32_of_e8m0(255)));
}

TEST(FloatFormats, KnownValues) {
  EXPECT_EQ(f16_of_f32(65504.0f), 0x7bff);
  EXPECT_EQ(f16_of_f32(65520.0f), 0x7c00);
  EXPECT_EQ(narrow<e4m3_format>(448.0f), 0x7eu);
  EXPECT_EQ(narrow<e4m3_format>(480.0f), 0x7fu);  // beyond: NaN
  EXPECT_EQ(narrow<e4m3_fnuz_format>(240.0f), 0x7fu);
  EXPECT_EQ(narrow<e4m3_fnuz_format>(-0.0f), 0x00u);
  EXPECT_EQ(narrow<e4m3_fnuz_format>(1000.0f), 0x80u);
  EXPECT_EQ(narrow<e4m3_fnuz_format>(1000.0f, Overflow::saturate), 0x7fu);
  EXPECT_EQ(narrow<e2m1_format>(5.0f), 0x6u);  // a tie, to even: 4
  EXPECT_EQ(bf16_of_f32(1.0f), 0x3f80);
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
