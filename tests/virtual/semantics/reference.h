// What the tests of the semantics compare with: formats by enumeration, in f64, and random numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "virtual/semantics/float_formats.h"

namespace instinct::INSTINCT_LEVEL {

// Every number of a format, from its definition: (-1)^s 2^(e - bias) 1.m, or 2^(1 - bias) 0.m.
class ReferenceFormat {
 public:
  explicit ReferenceFormat(const Format& format) : format_(format) {
    for (u32 code = 0; code <= format.largest(); ++code) values_.push_back(magnitude(code));
    // What follows the largest, if the exponent went on: half-way to it, nothing rounds down.
    beyond_ = magnitude(format.largest() + 1);
  }

  double value(u32 code) const {
    const u32 size = code & (format_.sign() - 1);
    const bool negative = (code & format_.sign()) != 0;
    if (is_nan(code)) return std::nan("");
    const double positive = size > format_.largest() ? HUGE_VAL : values_[size];
    return negative ? -positive : positive;
  }
  bool is_nan(u32 code) const {
    const u32 size = code & (format_.sign() - 1);
    switch (format_.top) {
      case Format::Top::ieee: return size > format_.infinity();
      case Format::Top::nan: return size == format_.sign() - 1;
      case Format::Top::fnuz: return code == format_.sign();
      case Format::Top::finite: return false;
    }
    return false;
  }

  struct Rounded {
    u32 magnitude;
    bool overflow;
  };
  // |x|, which is finite; `up` and `down` concern the magnitude.
  Rounded nearest(double size) const {
    const u32 below = floor_code(size);
    const double low = values_[below];
    const bool last = below == format_.largest();
    const double high = last ? beyond_ : values_[below + 1];
    const double middle = low + (high - low) / 2;
    const bool take_high = size > middle || (size == middle && (below & 1) != 0);
    return {take_high ? below + 1 : below, take_high && last};
  }
  Rounded directed(double size, bool away) const {
    const u32 below = floor_code(size);
    const bool last = below == format_.largest();
    const bool step = away && size > values_[below];
    return {step ? below + 1 : below, step && last};
  }
  const std::vector<double>& values() const { return values_; }
  double beyond() const { return beyond_; }
  const Format& format() const { return format_; }

 private:
  double magnitude(u32 code) const {
    const int e = static_cast<int>(code >> format_.mantissa);
    const int m = static_cast<int>(code & ((1u << format_.mantissa) - 1));
    const int one = 1 << format_.mantissa;
    const int exponent = (e == 0 ? 1 : e) - format_.bias - format_.mantissa;
    return std::ldexp(e == 0 ? m : m + one, exponent);
  }
  u32 floor_code(double size) const {
    const auto after = std::upper_bound(values_.begin(), values_.end(), size);
    return static_cast<u32>(after - values_.begin()) - 1;
  }

  Format format_;
  std::vector<double> values_;
  double beyond_ = 0;
};

// f32 numbers of every exponent, with the ends of each binade, and the special ones.
inline std::vector<float> telling_floats(int per_exponent, u32 seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> numbers;
  for (u32 e = 0; e < 256; ++e) {
    for (const u32 m : {0u, 1u, 2u, 0x400000u, 0x3fffffu, 0x7fffffu}) {
      numbers.push_back(float_of(e << 23 | m));
      numbers.push_back(float_of(0x80000000u | e << 23 | m));
    }
    for (int i = 0; i < per_exponent; ++i) {
      numbers.push_back(float_of((random() & 0x807fffffu) | e << 23));
    }
  }
  return numbers;
}

// Units in the last place of f32 between `actual` and the exact `expected`.
inline double ulps(float actual, double expected) {
  const double size = std::max(std::fabs(expected), 0x1p-126);
  const double unit = std::ldexp(1.0, std::ilogb(size) - 23);
  return std::fabs(static_cast<double>(actual) - expected) / unit;
}

}  // namespace instinct::INSTINCT_LEVEL
