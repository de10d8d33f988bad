// The storage types by their definitions, in double precision: slow, obvious, and independent of
// the library's own conversions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "wavefire/dtype.h"

namespace wavefire::reference {

/// A binary format: sign, exponent, mantissa.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum class Specials {
    ieee,     // the largest exponent holds infinities and NaNs
    one_nan,  // e4m3fn: only all ones is NaN, no infinity
    fnuz,     // what would be negative zero is NaN, no infinity
  } specials;
};

constexpr Format format_of(DType dtype) {
  using enum Format::Specials;
  switch (dtype) {
    case DType::f32: return {8, 23, 127, ieee};
    case DType::f16: return {5, 10, 15, ieee};
    case DType::bf16: return {8, 7, 127, ieee};
    case DType::e4m3fn: return {4, 3, 7, one_nan};
    case DType::e5m2: return {5, 2, 15, ieee};
    case DType::e4m3fnuz: return {4, 3, 8, fnuz};
    case DType::e5m2fnuz: return {5, 2, 16, fnuz};
    default: return {};
  }
}

inline double value_of_bits(DType dtype, std::uint32_t bits) {
  const Format f = format_of(dtype);
  const std::uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> f.mantissa_bits & ((1u << f.exponent_bits) - 1));
  const bool negative = (bits >> (f.mantissa_bits + f.exponent_bits) & 1) != 0;
  const bool all_ones = exponent == (1 << f.exponent_bits) - 1;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  if (f.specials == Format::Specials::ieee && all_ones) {
    if (mantissa != 0) return nan;
    value = std::numeric_limits<double>::infinity();
  } else if (f.specials == Format::Specials::one_nan && all_ones &&
             mantissa == (1u << f.mantissa_bits) - 1) {
    return nan;
  } else if (f.specials == Format::Specials::fnuz && negative && exponent == 0 && mantissa == 0) {
    return nan;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  } else {
    value = std::ldexp((1u << f.mantissa_bits) + mantissa, exponent - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

/// The largest finite value: below infinity, below the one NaN, or all ones.
inline double largest_of(DType dtype) {
  const Format f = format_of(dtype);
  const std::uint32_t ones = (1u << (f.exponent_bits + f.mantissa_bits)) - 1;
  switch (f.specials) {
    case Format::Specials::ieee: return value_of_bits(dtype, ones - (1u << f.mantissa_bits));
    case Format::Specials::one_nan: return value_of_bits(dtype, ones - 1);
    case Format::Specials::fnuz: break;
  }
  return value_of_bits(dtype, ones);
}

inline std::uint32_t nan_bits_of(DType dtype) {
  const Format f = format_of(dtype);
  const int width = f.exponent_bits + f.mantissa_bits;
  return f.specials == Format::Specials::fnuz ? 1u << width : (1u << width) - 1;
}

/// Nearest, ties to even. Beyond the largest value: infinity, or for float8 that largest value.
inline std::uint32_t bits_of_value(DType dtype, double value) {
  const Format f = format_of(dtype);
  if (std::isnan(value)) return nan_bits_of(dtype);
  const std::uint32_t sign = std::signbit(value) ? 1u << (f.exponent_bits + f.mantissa_bits) : 0;
  double size = std::fabs(value);
  const std::uint32_t infinity = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
  if (std::isinf(size) && !is_float8(dtype)) return sign | infinity;
  int exponent = size == 0 || std::isinf(size) ? 1 - f.bias : std::ilogb(size);
  if (exponent < 1 - f.bias) exponent = 1 - f.bias;
  const double quantum = std::ldexp(1, exponent - f.mantissa_bits);
  size = std::nearbyint(size / quantum) * quantum;
  const double largest = largest_of(dtype);
  if (size > largest) {
    if (!is_float8(dtype)) return sign | infinity;
    size = largest;
  }
  if (size == 0) return f.specials == Format::Specials::fnuz ? 0 : sign;
  exponent = std::ilogb(size);
  if (exponent < 1 - f.bias) {  // subnormal
    return sign | static_cast<std::uint32_t>(std::ldexp(size, f.bias - 1 + f.mantissa_bits));
  }
  const auto mantissa = static_cast<std::uint32_t>(std::ldexp(size, f.mantissa_bits - exponent));
  return sign | static_cast<std::uint32_t>(exponent + f.bias) << f.mantissa_bits |
         (mantissa - (1u << f.mantissa_bits));
}

/// Element `index` of `data`.
inline double decode(DType dtype, const void* data, std::int64_t index) {
  const std::size_t size = static_cast<std::size_t>(size_of(dtype));
  std::uint64_t bits = 0;  // of 8 bytes too
  std::memcpy(&bits, static_cast<const unsigned char*>(data) + index * size_of(dtype), size);
  return value_of_bits(dtype, static_cast<std::uint32_t>(bits));
}

inline void encode_bits(DType dtype, std::uint32_t bits, void* data, std::int64_t index) {
  const std::size_t size = static_cast<std::size_t>(size_of(dtype));
  const std::uint64_t wide = bits;
  std::memcpy(static_cast<unsigned char*>(data) + index * size_of(dtype), &wide, size);
}

inline void encode(DType dtype, double value, void* data, std::int64_t index) {
  encode_bits(dtype, bits_of_value(dtype, value), data, index);
}

}  // namespace wavefire::reference
