// f16 arithmetic, minimum, maximum, median and the output modifiers.
#include "virtual/semantics/arithmetic.h"

#include <gtest/gtest.h>

#include "reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

const ReferenceFormat& f16() {
  static const ReferenceFormat format(f16_format);
  return format;
}

// f16 codes that matter: every exponent with the ends of its binade, and random ones.
std::vector<u16> telling_halves(int random_ones) {
  std::mt19937 random(1);
  std::vector<u16> codes;
  for (u32 e = 0; e < 32; ++e) {
    for (const u32 m : {0u, 1u, 0x1ffu, 0x200u, 0x3ffu}) {
      codes.push_back(static_cast<u16>(e << 10 | m));
      codes.push_back(static_cast<u16>(0x8000 | e << 10 | m));
    }
  }
  for (int i = 0; i < random_ones; ++i) codes.push_back(static_cast<u16>(random()));
  return codes;
}

// An exact sum of f64 as high + low: rounded to f16 as one number.
u32 round_exact(long double x) {
  const double high = static_cast<double>(x);
  if (std::isinf(high)) return std::signbit(high) ? 0xfc00 : 0x7c00;
  const bool negative = std::signbit(x);
  const auto rounded = f16().nearest(std::fabs(high));
  // f16 numbers and ties have few bits: where `high` is one of those, the rest of x decides.
  u32 magnitude = rounded.magnitude;
  const long double rest = std::fabs(x) - std::fabs(static_cast<long double>(high));
  if (rest != 0) {
    const auto nudged = f16().nearest(std::nextafter(std::fabs(high), rest > 0 ? HUGE_VAL : 0.0));
    magnitude = nudged.overflow ? 0x7c00 : nudged.magnitude;
  } else if (rounded.overflow) {
    magnitude = 0x7c00;
  }
  return magnitude | (negative ? 0x8000u : 0);
}

void expect_half(u16 actual, long double exact, const char* what, u32 a, u32 b, u32 c = 0) {
  if (std::isnan(exact)) {
    ASSERT_TRUE(is_nan_f16(actual)) << what << " " << a << " " << b << " " << c;
  } else {
    ASSERT_EQ(actual, round_exact(exact)) << what << " " << a << " " << b << " " << c;
  }
}

TEST(Arithmetic, HalfSumsAndProducts) {
  const std::vector<u16> codes = telling_halves(500);
  for (const u16 a : codes) {
    for (const u16 b : codes) {
      const double x = f16().value(a), y = f16().value(b);
      expect_half(add_f16(a, b), x + y, "add", a, b);
      expect_half(sub_f16(a, b), x - y, "sub", a, b);
      expect_half(mul_f16(a, b), x * y, "mul", a, b);
    }
  }
}

TEST(Arithmetic, HalfFma) {
  const std::vector<u16> codes = telling_halves(0);
  std::mt19937 random(2);
  const auto check = [](u16 a, u16 b, u16 c) {
    // 64 bits hold the product and the sum: f16 times f16 from 2^-48 to 2^32.
    const long double product = static_cast<long double>(f16().value(a)) * f16().value(b);
    expect_half(fma_f16(a, b, c), product + f16().value(c), "fma", a, b, c);
  };
  for (const u16 a : codes) {
    for (size_t i = 0; i < codes.size(); i += 7) {
      for (const u16 c : codes) check(a, codes[i], c);
    }
  }
  for (int i = 0; i < 300000; ++i) {
    check(static_cast<u16>(random()), static_cast<u16>(random()), static_cast<u16>(random()));
  }
}

TEST(Arithmetic, HalfMadRoundsTwice) {
  // (1 + 2^-10)^2 = 1 + 2^-9 + 2^-20: the last term is lost.
  EXPECT_EQ(mad_f16(0x3c01, 0x3c01, 0xbc02), 0x0000);
  EXPECT_NE(fma_f16(0x3c01, 0x3c01, 0xbc02), 0x0000);
}

TEST(Arithmetic, ToOddKeepsWhatRoundsLater) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300000; ++i) {
    const double x = double_of((random() & 0x800fffffffffffffu) | (897 + random() % 250) << 52);
    const float odd = to_odd(x);
    if (static_cast<double>(odd) == x) continue;
    ASSERT_EQ(bits_of(odd) & 1, 1u) << x;
    const float other = std::nextafter(odd, static_cast<double>(odd) < x ? HUGE_VALF : -HUGE_VALF);
    ASSERT_TRUE((static_cast<double>(odd) < x) == (x < static_cast<double>(other))) << x;
  }
}

// IEEE 754-2008 minNum and maxNum, with -0 below +0 and signalling NaNs as the guide has them.
template <class T>
T reference_select(T a, T b, bool maximum, bool ieee) {
  using F = FloatBits<T>;
  const auto quiet = [](T x) { return std::bit_cast<T>(bits_of(x) | F::quiet_bit); };
  const auto signalling = [](T x) { return std::isnan(x) && (bits_of(x) & F::quiet_bit) == 0; };
  if (ieee && signalling(a)) return quiet(a);
  if (ieee && signalling(b)) return quiet(b);
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) == maximum ? b : a;
  return (a < b) == maximum ? b : a;
}

std::vector<float> select_floats() {
  std::vector<float> x = {0.0f,      -0.0f,      1.0f,      -1.0f,     1.5f,
                          0x1p-140f, -0x1p-140f, HUGE_VALF, -HUGE_VALF};
  for (const u32 nan : {0x7fc00000u, 0xffc00001u, 0x7f800001u, 0xff800002u}) {
    x.push_back(float_of(nan));
  }
  return x;
}

TEST(Arithmetic, MinimumAndMaximum) {
  for (const bool ieee : {false, true}) {
    for (const float a : select_floats()) {
      for (const float b : select_floats()) {
        const u32 least = bits_of(reference_select(a, b, false, ieee));
        const u32 most = bits_of(reference_select(a, b, true, ieee));
        ASSERT_EQ(bits_of(v_min_f32(a, b, ieee)), least) << a << " " << b;
        ASSERT_EQ(bits_of(v_max_f32(a, b, ieee)), most) << a << " " << b;
        // The same in f64: the patterns widened by hand, as a conversion would quieten.
        const auto wide = [](float x) {
          const u64 bits = bits_of(x);
          if ((bits & 0x7f800000u) != 0x7f800000u) return static_cast<double>(x);
          return double_of((bits & 0x80000000u) << 32 | u64{0x7ff} << 52 | (bits & 0x7fffff) << 29);
        };
        const double x = wide(a), y = wide(b);
        ASSERT_EQ(bits_of(v_min_f64(x, y, ieee)), bits_of(reference_select(x, y, false, ieee)));
        ASSERT_EQ(bits_of(v_max_f64(x, y, ieee)), bits_of(reference_select(x, y, true, ieee)));
      }
    }
  }
}

TEST(Arithmetic, HalfMinimumAndMaximum) {
  const std::vector<u16> codes = telling_halves(200);
  for (const bool ieee : {false, true}) {
    for (const u16 a : codes) {
      for (const u16 b : codes) {
        // Through f32 by hand, so that signalling NaNs stay so.
        const auto wide = [](u16 x) {
          if ((x & 0x7c00) != 0x7c00) return static_cast<float>(f16().value(x));
          return float_of((x & 0x8000u) << 16 | 0x7f800000u | (x & 0x3ffu) << 13);
        };
        const auto narrow_bits = [](float x) {
          const u32 bits = bits_of(x);
          if (!std::isfinite(x)) return (bits >> 16 & 0x8000) | 0x7c00 | (bits >> 13 & 0x3ff);
          return narrow<f16_format>(x);
        };
        ASSERT_EQ(v_min_f16(a, b, ieee),
                  narrow_bits(reference_select(wide(a), wide(b), false, ieee)))
            << a << " " << b;
        ASSERT_EQ(v_max_f16(a, b, ieee),
                  narrow_bits(reference_select(wide(a), wide(b), true, ieee)))
            << a << " " << b;
      }
    }
  }
}

TEST(Arithmetic, OfThree) {
  std::mt19937 random(4);
  const std::vector<float> special = select_floats();
  for (int i = 0; i < 100000; ++i) {
    const auto pick = [&] {
      return random() % 3 == 0 ? special[random() % 9] : static_cast<float>(random() % 5) - 2.0f;
    };
    float x[3] = {pick(), pick(), pick()};
    const float a = x[0], b = x[1], c = x[2];
    std::sort(x, x + 3);
    ASSERT_EQ(v_min3_f32(a, b, c), x[0]);
    ASSERT_EQ(v_max3_f32(a, b, c), x[2]);
    ASSERT_EQ(v_med3_f32(a, b, c), x[1]) << a << " " << b << " " << c;
    const u16 h[3] = {f16_of_f32(a), f16_of_f32(b), f16_of_f32(c)};
    const auto value = [](float y) { return f32_of_f16(f16_of_f32(y)); };
    ASSERT_EQ(f32_of_f16(v_min3_f16(h[0], h[1], h[2])), value(x[0]));
    ASSERT_EQ(f32_of_f16(v_max3_f16(h[0], h[1], h[2])), value(x[2]));
    ASSERT_EQ(f32_of_f16(v_med3_f16(h[0], h[1], h[2])), value(x[1]));
    ASSERT_EQ(v_minimum3_f32(a, b, c), x[0]);
    ASSERT_EQ(v_maximum3_f32(a, b, c), x[2]);
    ASSERT_EQ(f32_of_f16(minimum3_f16(h[0], h[1], h[2])), value(x[0]));
    ASSERT_EQ(f32_of_f16(maximum3_f16(h[0], h[1], h[2])), value(x[2]));
  }
  const float nan = float_of(0x7fc00000u);
  EXPECT_EQ(v_med3_f32(nan, 2.0f, 1.0f), 1.0f);
  EXPECT_EQ(v_min3_f32(nan, 2.0f, 1.0f), 1.0f);
  EXPECT_TRUE(std::isnan(v_minimum3_f32(1.0f, nan, 2.0f)));
  EXPECT_TRUE(std::isnan(v_maximum3_f32(1.0f, 2.0f, nan)));
  EXPECT_TRUE(is_nan_f16(minimum3_f16(0x3c00, 0x7d00, 0)));
  EXPECT_TRUE(is_nan_f16(maximum3_f16(0x7e00, 0x3c00, 0)));
}

TEST(Arithmetic, Modifiers) {
  EXPECT_EQ(v_mul_legacy_f32(0.0f, HUGE_VALF), 0.0f);
  EXPECT_EQ(bits_of(v_mul_legacy_f32(-0.0f, 1.0f)), 0u);
  EXPECT_EQ(v_mul_legacy_f32(2.0f, 3.0f), 6.0f);
  EXPECT_EQ(apply_omod(3.0f, 0), 3.0f);
  EXPECT_EQ(apply_omod(3.0f, 1), 6.0f);
  EXPECT_EQ(apply_omod(3.0f, 2), 12.0f);
  EXPECT_EQ(apply_omod(3.0f, 3), 1.5f);
  const float nan = float_of(0x7fc00000u);
  EXPECT_EQ(clamp_f32(-1.0f), 0.0f);
  EXPECT_EQ(clamp_f32(0.25f), 0.25f);
  EXPECT_EQ(clamp_f32(HUGE_VALF), 1.0f);
  EXPECT_EQ(clamp_f32(nan), 0.0f);
  EXPECT_TRUE(std::isnan(clamp_f32(nan, false)));
  EXPECT_EQ(clamp_f64(7.0), 1.0);
  EXPECT_EQ(clamp_f64(std::nan("")), 0.0);
  for (u32 code = 0; code < 0x10000; ++code) {
    const double x = f16().value(code);
    const double expected = std::isnan(x) ? 0 : std::min(std::max(x, 0.0), 1.0);
    ASSERT_EQ(f16().value(clamp_f16(static_cast<u16>(code))), expected) << code;
  }
}

TEST(Arithmetic, Flush) {
  EXPECT_EQ(bits_of(flush(float_of(0x807fffffu))), 0x80000000u);
  EXPECT_EQ(bits_of(flush(float_of(0x00800000u))), 0x00800000u);
  EXPECT_EQ(flush_f16(0x83ff), 0x8000);
  EXPECT_EQ(flush_f16(0x0400), 0x0400);
  EXPECT_EQ(bits_of(flush(double_of(0x800fffffffffffffu))), 0x8000000000000000u);
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
