// How the matrix instructions round: against the published model, written here with exact integers,
// and against f64.
#include "virtual/semantics/matrix_sum.h"

#include <gtest/gtest.h>

#include "matrix_reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

// A number as significand * 2^exponent, the significand with `fraction` bits after its point, as
// it is encoded: 1.m, or 0.m of a subnormal.
struct Encoded {
  __int128 significand = 0;  // times 2^60
  int exponent = 0;
  bool zero = true;
};

Encoded encode(double x, int lowest) {
  if (x == 0) return {};
  const int exponent = std::max(std::ilogb(x), lowest);
  return {static_cast<__int128>(std::ldexp(x, 60 - exponent)), exponent, false};
}
Encoded product(const Encoded& a, const Encoded& b) {
  if (a.zero || b.zero) return {};
  // 1.23 bits each at most: exact.
  return {(a.significand >> 30) * (b.significand >> 30), a.exponent + b.exponent, false};
}

// x * 2^(shift), rounded to an integer down or towards zero.
__int128 scaled(__int128 x, int shift, bool down) {
  if (shift >= 0) return x << shift;
  if (shift < -120) return down && x < 0 ? -1 : 0;
  const __int128 floor = x >> -shift;
  const bool inexact = (floor << -shift) != x;
  return !down && x < 0 && inexact ? floor + 1 : floor;
}

struct Sum128 {
  __int128 units = 0;  // of 2^(exponent - 24)
  int exponent = -100000;
};
Sum128 group_sum(const std::vector<Encoded>& products) {
  Sum128 sum;
  for (const Encoded& p : products) {
    if (!p.zero) sum.exponent = std::max(sum.exponent, p.exponent);
  }
  for (const Encoded& p : products) {
    if (!p.zero) sum.units += scaled(p.significand, p.exponent - sum.exponent + 24 - 60, false);
  }
  return sum;
}

// units * 2^exponent to f32, to nearest even; units below 2^62.
float to_f32(__int128 units, int exponent) {
  // A double holds 53 bits; what is lost of more than that, as a sticky bit.
  i64 u = static_cast<i64>(units);
  while (std::abs(u) >= i64{1} << 52) {
    u = (u >> 1) | (u & 1);
    ++exponent;
  }
  return static_cast<float>(std::ldexp(static_cast<double>(u), exponent));
}

float model(const std::vector<Encoded>& products, float c, bool bytes, int scale) {
  Sum128 sum;
  if (bytes) {
    std::vector<Encoded> half[2];
    for (size_t k = 0; k < products.size(); ++k) half[k % 2].push_back(products[k]);
    const Sum128 even = group_sum(half[0]), odd = group_sum(half[1]);
    sum.exponent = std::max(even.exponent, odd.exponent);
    sum.units = scaled(even.units, even.exponent - sum.exponent, true) +
                scaled(odd.units, odd.exponent - sum.exponent, true);
  } else {
    sum = group_sum(products);
  }
  if (sum.exponent == -100000) return c + 0.0f;
  sum.exponent += scale;
  const Encoded of_c = encode(c, -126);
  const int exponent_c = of_c.zero ? -100000 : of_c.exponent;
  const int most = std::max(sum.exponent, exponent_c);
  const __int128 a = scaled(sum.units, 7 + sum.exponent - most, true);
  const bool dropped = bytes && exponent_c < most - 25;
  const __int128 b =
      of_c.zero || dropped ? 0 : scaled(of_c.significand, exponent_c - most + 24 - 60, true);
  return to_f32(a + b * 128, most - 31);
}

int lowest_exponent(Element e, bool ocp) {
  switch (e) {
    case Element::f16: return -14;
    case Element::fp8: return ocp ? -6 : -7;
    case Element::bf8: return ocp ? -14 : -15;
    default: return -126;
  }
}

bool has_model(const Matrix& m) {
  return !m.sparse && (m.a == Element::f16 || m.a == Element::bf16 || m.a == Element::xf32 ||
                       m.a == Element::fp8 || m.a == Element::bf8);
}

float model_element(const Case& c, int block, int i, int j) {
  const Matrix& m = c.matrix;
  const bool bytes = element_bits(m.a) == 8;
  const int group = std::min<int>(m.k, bytes ? 16 : m.a == Element::xf32 ? 4 : 8);
  float sum = static_cast<float>(c.c(block, i, j));
  for (int first = 0; first < m.k; first += group) {
    std::vector<Encoded> products;
    for (int k = first; k < first + group; ++k) {
      products.push_back(product(encode(c.value_a(block, i, k), lowest_exponent(m.a, is_ocp(m))),
                                 encode(c.value_b(block, j, k), lowest_exponent(m.b, is_ocp(m)))));
    }
    sum = model(products, sum, bytes, 0);
  }
  return sum;
}

void expect_model(const Matrix& m, Case& c, const char* what) {
  m.run(c.operands());
  c.for_each([&](int block, int i, int j) {
    const float expected = model_element(c, block, i, j);
    ASSERT_EQ(bits_of(static_cast<float>(c.d(block, i, j))), bits_of(expected))
        << m.mnemonic << " " << what << " " << block << " " << i << " " << j << ": "
        << c.d(block, i, j) << " not " << expected;
  });
}

// A finite number of a format whose exponent is drawn from [low, high].
u64 random_code(std::mt19937& random, Element e, bool ocp, int low, int high) {
  std::uniform_int_distribution<int> exponent(low, high);
  std::uniform_real_distribution<double> significand(-2.0, 2.0);
  const float x = static_cast<float>(std::ldexp(significand(random), exponent(random)));
  switch (e) {
    case Element::f16: return narrow<f16_format>(x, Overflow::saturate);
    case Element::bf16: return narrow<bf16_format>(x, Overflow::saturate);
    case Element::fp8:
      return ocp ? narrow<e4m3_format>(x, Overflow::saturate)
                 : narrow<e4m3_fnuz_format>(x, Overflow::saturate);
    case Element::bf8:
      return ocp ? narrow<e5m2_format>(x, Overflow::saturate)
                 : narrow<e5m2_fnuz_format>(x, Overflow::saturate);
    default: return bits_of(x);
  }
}

TEST(MatrixSum, MatchesThePublishedModel) {
  std::mt19937 random(11);
  for (const Matrix& m : matrices()) {
    if (!has_model(m)) continue;
    for (const int spread : {0, 2, 6, 14}) {
      Case c(m);
      c.fill([&] { return random_code(random, m.a, is_ocp(m), -spread, spread); },
             [&] { return random_code(random, m.b, is_ocp(m), -spread, spread); },
             [&] {
               const float x = std::ldexp(static_cast<float>(random()) - 0x1p31f, -31);
               return std::ldexp(x, static_cast<int>(random() % (4 * spread + 1)) - 2 * spread);
             });
      expect_model(m, c, "spread");
    }
  }
}

// Zeros, subnormals, products from 2^-200 to 2^120, accumulators of all sizes.
TEST(MatrixSum, MatchesThePublishedModelAtTheEnds) {
  std::mt19937 random(12);
  for (const Matrix& m : matrices()) {
    if (!has_model(m)) continue;
    for (const int centre : {-100, -55, -14, 0, 40}) {
      Case c(m);
      const auto code = [&](Element e) {
        if (random() % 4 == 0) return u64{random() % 3 == 0 ? code_of(e, 0, is_ocp(m)) : 0};
        return random_code(random, e, is_ocp(m), std::max(centre - 20, -126), centre + 18);
      };
      c.fill([&] { return code(m.a); }, [&] { return code(m.b); },
             [&] {
               if (random() % 5 == 0) return 0.0f;
               return float_of((random() & 0x807fffffu) | random() % 250 << 23);
             });
      expect_model(m, c, "ends");
    }
  }
}

TEST(MatrixSum, KnownCases) {
  // f16: 1 * 1 plus a tiny negative accumulator is rounded down ("MMA-Sim", section on CDNA3).
  Group g{};
  g.count = 8;
  g.a[0] = g.b[0] = 1.0f;
  for (int k = 1; k < 8; ++k) g.exponent_a[k] = g.exponent_b[k] = zero_exponent;
  EXPECT_EQ(add_group(g, -0x1p-100f, Sum::halves), 1.0f - 0x1p-24f);
  EXPECT_EQ(add_group(g, 0x1p-100f, Sum::halves), 1.0f);
  // fp8 drops it.
  EXPECT_EQ(add_group(g, -0x1p-100f, Sum::bytes), 1.0f);
  // Products more than 2^24 below the largest are cut off before they cancel.
  g.a[1] = 0x1p-13f;
  g.b[1] = 0x1p-13f;
  g.exponent_a[1] = g.exponent_b[1] = -13;
  EXPECT_EQ(add_group(g, -1.0f, Sum::halves), 0.0f);
}

// Against f64: the error is within the cut of 2^-24 of the largest product, for each product, and a
// rounding for each group.
TEST(MatrixSum, IsCloseToF64) {
  std::mt19937 random(13);
  std::normal_distribution<float> normal;
  for (const Matrix& m : matrices()) {
    if (m.sparse || m.a == Element::f8f6f4 || m.a == Element::i8) continue;
    Case c(m);
    const auto code = [&](Element e) {
      if (e == Element::f64) return bits_of(static_cast<double>(normal(random)));
      if (e == Element::f32) return u64{bits_of(normal(random))};
      return random_code(random, e, is_ocp(m), -3, 1);
    };
    c.fill([&] { return code(m.a); }, [&] { return code(m.b); }, [&] { return normal(random); });
    m.run(c.operands());
    c.for_each([&](int block, int i, int j) {
      double sum = c.c(block, i, j), size = std::fabs(sum);
      for (int k = 0; k < m.k; ++k) {
        const double p = c.value_a(block, i, k) * c.value_b(block, j, k);
        sum += p;
        size += std::fabs(p);
      }
      const double unit = m.a == Element::f64 ? 0x1p-52 : 0x1p-23;
      ASSERT_NEAR(c.d(block, i, j), sum, size * (m.k + 2) * unit) << m.mnemonic;
    });
  }
}

// f32 and f64 are chains of fused multiply-adds, in the order of k.
TEST(MatrixSum, ChainsOfFusedMultiplyAdds) {
  std::mt19937 random(14);
  std::normal_distribution<double> normal;
  for (const Matrix& m : matrices()) {
    if (m.a != Element::f32 && m.a != Element::f64) continue;
    Case c(m);
    const auto code = [&] {
      const double x = normal(random);
      return m.a == Element::f64 ? bits_of(x) : u64{bits_of(static_cast<float>(x))};
    };
    c.fill(code, code, [&] { return static_cast<float>(normal(random)); });
    m.run(c.operands());
    c.for_each([&](int block, int i, int j) {
      double wide = c.c(block, i, j);
      float narrow = static_cast<float>(wide);
      for (int k = 0; k < m.k; ++k) {
        const double a = c.value_a(block, i, k), b = c.value_b(block, j, k);
        wide = std::fma(a, b, wide);
        narrow = std::fma(static_cast<float>(a), static_cast<float>(b), narrow);
      }
      ASSERT_EQ(c.d(block, i, j), m.a == Element::f64 ? wide : narrow) << m.mnemonic;
    });
  }
}

bool has_infinity(Element e, bool ocp) {
  return e != Element::i8 && e != Element::fp8 && (e != Element::bf8 || ocp);
}
u64 special_code(Element e, bool nan, bool ocp) {
  switch (e) {
    case Element::f64: return nan ? 0x7ff8000000000000u : 0x7ff0000000000000u;
    case Element::f32:
    case Element::xf32: return nan ? 0x7fc00000u : 0x7f800000u;
    case Element::f16: return nan ? 0x7e00 : 0x7c00;
    case Element::bf16: return nan ? 0x7fc0 : 0x7f80;
    case Element::fp8: return ocp ? 0x7f : 0x80;
    default: return !ocp ? 0x80 : nan ? 0x7e : 0x7c;
  }
}

// One infinity or NaN in A reaches its row, and no other; infinity times zero is NaN.
TEST(MatrixSum, InfinityAndNan) {
  for (const Matrix& m : matrices()) {
    if (m.sparse || m.a == Element::f8f6f4 || m.a == Element::i8) continue;
    for (const bool nan : {false, true}) {
      if (!nan && !has_infinity(m.a, is_ocp(m))) continue;
      Case c(m);
      c.fill([&] { return code_of(m.a, 1, is_ocp(m)); }, [&] { return code_of(m.b, 1, is_ocp(m)); },
             [] { return 0.5; });
      c.a.at(m.blocks - 1, 2, m.k - 1) = special_code(m.a, nan, is_ocp(m));
      c.b.at(m.blocks - 1, 1, m.k - 1) = code_of(m.b, 0, is_ocp(m));
      put_operand(c.rows_a, c.a, element_bits(m.a));
      put_operand(c.rows_b, c.b, element_bits(m.b));
      m.run(c.operands());
      c.for_each([&](int block, int i, int j) {
        const double d = c.d(block, i, j);
        const bool zero = block == m.blocks - 1 && j == 1;
        if (block != m.blocks - 1 || i != 2) {
          ASSERT_EQ(d, m.k - (zero ? 1 : 0) + 0.5) << m.mnemonic;
        } else if (nan || zero) {
          ASSERT_TRUE(std::isnan(d)) << m.mnemonic << " " << j;
        } else {
          ASSERT_EQ(d, HUGE_VAL) << m.mnemonic;
        }
      });
    }
  }
}

// Accumulators that are infinite or NaN, overflow of the result, and products beyond f32.
TEST(MatrixSum, SpecialAccumulators) {
  for (const Matrix& m : matrices()) {
    if (m.sparse || m.a == Element::f8f6f4 || m.a == Element::i8 || m.a == Element::f64) continue;
    Case c(m);
    c.fill([&] { return code_of(m.a, 1, is_ocp(m)); }, [&] { return code_of(m.b, 1, is_ocp(m)); },
           [] { return 1.0; });
    write_result(m, c.rows_c, 0, 0, 0, HUGE_VAL);
    write_result(m, c.rows_c, 0, 0, 1, -HUGE_VAL);
    write_result(m, c.rows_c, 0, 0, 2, std::nan(""));
    write_result(m, c.rows_c, 0, 0, 3, std::numeric_limits<float>::max());
    m.run(c.operands());
    EXPECT_EQ(c.d(0, 0, 0), HUGE_VAL) << m.mnemonic;
    EXPECT_EQ(c.d(0, 0, 1), -HUGE_VAL) << m.mnemonic;
    EXPECT_TRUE(std::isnan(c.d(0, 0, 2))) << m.mnemonic;
    EXPECT_EQ(c.d(0, 0, 3), std::numeric_limits<float>::max()) << m.mnemonic;
    EXPECT_EQ(c.d(0, 1, 0), m.k + 1) << m.mnemonic;
    if (m.a != Element::bf16) continue;
    c.a.at(0, 1, 0) = 0x7f00;  // 2^127
    c.b.at(0, 0, 0) = 0x4000;  // 2
    put_operand(c.rows_a, c.a, 16);
    put_operand(c.rows_b, c.b, 16);
    m.run(c.operands());
    EXPECT_EQ(c.d(0, 1, 0), HUGE_VAL) << m.mnemonic;
  }
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
