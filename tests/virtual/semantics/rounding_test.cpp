// The rounding modes, against the host's own (fesetround).
#include "virtual/semantics/rounding.h"

#include <gtest/gtest.h>

#include <cfenv>

#include "reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

int host_mode(Round round) {
  switch (round) {
    case Round::up: return FE_UPWARD;
    case Round::down: return FE_DOWNWARD;
    case Round::zero: return FE_TOWARDZERO;
    default: return FE_TONEAREST;
  }
}

enum class Operation { add, mul, fma };

// In the host's rounding mode. Volatile: the compiler must not compute in another.
template <class T>
[[gnu::noinline]] T on_host(Operation op, Round round, T a, T b, T c) {
  volatile T x = a, y = b, z = c, result;
  std::fesetround(host_mode(round));
  switch (op) {
    case Operation::add: result = x + y; break;
    case Operation::mul: result = x * y; break;
    default: result = std::fma(x, y, z); break;
  }
  std::fesetround(FE_TONEAREST);
  return result;
}

template <class T>
void expect_same(T actual, T expected, const char* what, T a, T b, T c) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(actual)) << what << " " << a << " " << b << " " << c;
  } else {
    ASSERT_EQ(bits_of(actual), bits_of(expected))
        << what << " " << a << " " << b << " " << c << ": " << actual << " not " << expected;
  }
}

constexpr Round rounds[] = {Round::nearest, Round::up, Round::down, Round::zero};

TEST(Rounding, F32) {
  const std::vector<float> numbers = telling_floats(2);
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto pick = [&] { return numbers[random() % numbers.size()]; };
    const float a = pick(), b = i % 5 == 0 ? -a : pick(), c = pick();
    for (const Round round : rounds) {
      expect_same(add_f32(a, b, round), on_host(Operation::add, round, a, b, c), "add", a, b, c);
      expect_same(mul_f32(a, b, round), on_host(Operation::mul, round, a, b, c), "mul", a, b, c);
      expect_same(fma_f32(a, b, c, round), on_host(Operation::fma, round, a, b, c), "fma", a, b, c);
      const float near = static_cast<float>(-static_cast<double>(a) * b);
      expect_same(fma_f32(a, b, near, round), on_host(Operation::fma, round, a, b, near), "fma", a,
                  b, near);
    }
  }
}

TEST(Rounding, F64) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100000; ++i) {
    // Products whose errors are not subnormal.
    const auto pick = [&] {
      return double_of((random() & 0x800fffffffffffffu) | (600 + random() % 800) << 52);
    };
    const double a = pick(), c = pick();
    const double b = i % 5 == 0   ? -a
                     : i % 3 == 0 ? std::ldexp(a, static_cast<int>(i % 60))
                                  : pick();
    for (const Round round : rounds) {
      expect_same(add_f64(a, b, round), on_host(Operation::add, round, a, b, c), "add", a, b, c);
      expect_same(mul_f64(a, b, round), on_host(Operation::mul, round, a, b, c), "mul", a, b, c);
      expect_same(fma_f64(a, b, c, round), on_host(Operation::fma, round, a, b, c), "fma", a, b, c);
      const double near = -(a * b) * (1 + static_cast<double>(i % 3) * 0x1p-52);
      expect_same(fma_f64(a, b, near, round), on_host(Operation::fma, round, a, b, near), "fma", a,
                  b, near);
    }
  }
}

// Holds any product of f16 plus any f16: 2^-48 to 2^33.
#if defined(__SIZEOF_FLOAT128__)
__extension__ using Wide = __float128;
#else
using Wide = long double;
#endif

// f16: the exact result, rounded by the enumeration of the format.
class HalfModel {
 public:
  // `zero`: the sign of the result if it is a zero.
  u32 round(Wide exact, bool zero_is_negative, Round mode) const {
    if (exact != exact) return 0x7e00;
    const bool negative = exact == 0 ? zero_is_negative : exact < 0;
    const u32 sign = negative ? 0x8000 : 0;
    const Wide size = exact < 0 ? -exact : exact;
    double high = static_cast<double>(size);
    if (std::isinf(high)) return sign | 0x7c00;
    // Where that is inexact, it must not be a number or a tie, which are even in the last place.
    if (high != size && (bits_of(high) & 1) == 0) {
      high = std::nextafter(high, high < size ? HUGE_VAL : 0.0);
    }
    const bool away = mode == Round::up ? !negative : mode == Round::down && negative;
    const auto r = mode == Round::nearest ? format_.nearest(high) : format_.directed(high, away);
    return sign | (r.overflow ? 0x7c00 : r.magnitude);
  }
  double value(u16 code) const { return format_.value(code); }

 private:
  ReferenceFormat format_{f16_format};
};

// Sums of opposites are -0 in no mode but down.
bool negative_zero(double a, double b, Round round) {
  const bool both = std::signbit(a) && std::signbit(b);
  return both || ((std::signbit(a) || std::signbit(b)) && round == Round::down);
}

TEST(Rounding, F16) {
  const HalfModel model;
  std::mt19937 random(3);
  for (int i = 0; i < 200000; ++i) {
    const u16 a = static_cast<u16>(random()), c = static_cast<u16>(random());
    const u16 b = i % 5 == 0 ? static_cast<u16>(a ^ 0x8000) : static_cast<u16>(random());
    const double x = model.value(a), y = model.value(b), z = model.value(c);
    const Wide product = static_cast<Wide>(x) * static_cast<Wide>(y);
    const auto expect = [&](u16 actual, u32 wanted, const char* what) {
      if (wanted == 0x7e00) {
        ASSERT_TRUE(is_nan_f16(actual)) << what;
      } else {
        ASSERT_EQ(actual, wanted) << what << " " << a << " " << b << " " << c;
      }
    };
    for (const Round round : rounds) {
      const bool minus = std::signbit(x * y);
      expect(add_f16(a, b, round), model.round(x + y, negative_zero(x, y, round), round), "add");
      expect(mul_f16(a, b, round), model.round(product, minus, round), "mul");
      expect(fma_f16(a, b, c, round),
             model.round(product + z, negative_zero(x * y, z, round), round), "fma");
    }
  }
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
