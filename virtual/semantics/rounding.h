// Sums, products and fused multiply-adds in the rounding modes other than to nearest, exactly: for
// waves that set MODE.FP_ROUND ("CDNA3 ISA", "Mode register"). Slow, so for those waves only.
#pragma once

#include <limits>

#include "virtual/semantics/arithmetic.h"

namespace instinct::INSTINCT_LEVEL {

// The exact value as high + low, |low| at most half a last place of high.
struct Exact {
  double high, low;
};

// Knuth's TwoSum.
inline Exact exact_sum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  const double of_a = sum - of_b;
  return {sum, std::isfinite(sum) ? (a - of_a) + (b - of_b) : 0.0};
}

// The sign of a zero that is the sum of opposites (IEEE 754, 6.3).
inline double zero_of_sum(double a, double b, Round round) {
  const bool both_negative = std::signbit(a) && std::signbit(b);
  const bool any_negative = std::signbit(a) || std::signbit(b);
  return both_negative || (any_negative && round == Round::down) ? -0.0 : 0.0;
}

template <class T>
inline T next_towards(T value, bool up) {
  return std::nextafter(
      value, up ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity());
}

// `exact` to f32, in a mode that is not to nearest.
inline float round_to_f32(Exact exact, Round round) {
  const float nearest = static_cast<float>(exact.high);
  if (std::isnan(nearest) || std::isinf(exact.high)) return nearest;
  // How the exact value compares with `nearest`.
  const double difference =
      std::isinf(nearest) ? (nearest > 0 ? -1.0 : 1.0) : exact.high - static_cast<double>(nearest);
  const double rest = difference != 0.0 ? difference : exact.low;
  if (rest == 0.0) return nearest;
  switch (round) {
    case Round::nearest: return nearest;
    case Round::up: return rest > 0 ? next_towards(nearest, true) : nearest;
    case Round::down: return rest < 0 ? next_towards(nearest, false) : nearest;
    case Round::zero:
      if (exact.high > 0) return rest < 0 ? next_towards(nearest, false) : nearest;
      return rest > 0 ? next_towards(nearest, true) : nearest;
  }
  return nearest;
}

inline float add_f32(float a, float b, Round round) {
  if (round == Round::nearest) return a + b;
  const Exact sum = exact_sum(a, b);
  if (sum.high == 0.0 && sum.low == 0.0) return static_cast<float>(zero_of_sum(a, b, round));
  return round_to_f32(sum, round);
}
inline float mul_f32(float a, float b, Round round) {
  if (round == Round::nearest) return a * b;
  return round_to_f32({static_cast<double>(a) * static_cast<double>(b), 0.0}, round);
}
inline float fma_f32(float a, float b, float c, Round round) {
  if (round == Round::nearest) return std::fma(a, b, c);
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const Exact sum = exact_sum(product, c);
  if (sum.high == 0.0 && sum.low == 0.0) return static_cast<float>(zero_of_sum(product, c, round));
  return round_to_f32(sum, round);
}

// f64: the error of an operation says on which side the exact result lies.
inline double round_f64(double nearest, double error, Round round) {
  if (!std::isfinite(nearest) || error == 0.0) return nearest;
  const bool up = round == Round::up     ? error > 0
                  : round == Round::zero ? (nearest < 0 && error > 0)
                                         : false;
  const bool down = round == Round::down   ? error < 0
                    : round == Round::zero ? (nearest > 0 && error < 0)
                                           : false;
  if (up) return next_towards(nearest, true);
  return down ? next_towards(nearest, false) : nearest;
}
inline double add_f64(double a, double b, Round round) {
  const Exact sum = exact_sum(a, b);
  if (round == Round::nearest) return sum.high;
  if (sum.high == 0.0 && sum.low == 0.0) return zero_of_sum(a, b, round);
  return round_f64(sum.high, sum.low, round);
}
inline double mul_f64(double a, double b, Round round) {
  const double product = a * b;
  if (round == Round::nearest) return product;
  return round_f64(product, std::fma(a, b, -product), round);
}

// The sign of what rounding fma to nearest left out: its four terms summed without error.
inline double fma_f64(double a, double b, double c, Round round) {
  const double nearest = std::fma(a, b, c);
  if (round == Round::nearest || !std::isfinite(nearest)) return nearest;
  const double product = a * b, lost = std::fma(a, b, -product);
  if (nearest == 0.0 && product + c == 0.0) return zero_of_sum(a * b, c, round);
  const Exact sum = exact_sum(product, c);
  const Exact rest = exact_sum(sum.high, -nearest);
  const Exact small = exact_sum(sum.low, lost);
  const Exact all = exact_sum(rest.high, small.high);
  const double tail = all.low + (rest.low + small.low);
  return round_f64(nearest, all.high != 0.0 ? all.high : tail, round);
}

inline u16 f16_of_exact(Exact exact, Round round) {
  // Odd in f64, then odd in f32: both keep which side of any f16 the value is on.
  return f16_of_f32(to_odd(odd_sum(exact.high, exact.low)), round);
}
inline u16 add_f16(u16 a, u16 b, Round round) {
  if (round == Round::nearest) return add_f16(a, b);
  const double x = f32_of_f16(a), y = f32_of_f16(b);
  if (x + y == 0.0) return f16_of_f32(static_cast<float>(zero_of_sum(x, y, round)));
  return f16_of_exact(exact_sum(x, y), round);
}
inline u16 mul_f16(u16 a, u16 b, Round round) {
  return f16_of_f32(f32_of_f16(a) * f32_of_f16(b), round);
}
inline u16 fma_f16(u16 a, u16 b, u16 c, Round round) {
  if (round == Round::nearest) return fma_f16(a, b, c);
  const double product = static_cast<double>(f32_of_f16(a)) * static_cast<double>(f32_of_f16(b));
  const double addend = f32_of_f16(c);
  if (product + addend == 0.0) {
    return f16_of_f32(static_cast<float>(zero_of_sum(product, addend, round)));
  }
  return f16_of_exact(exact_sum(product, addend), round);
}

}  // namespace instinct::INSTINCT_LEVEL
