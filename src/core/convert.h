// Exact conversions between float32 and the narrower types, one value at a time.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "wavefire/dtype.h"

namespace wavefire::core {

/// A binary floating point format of up to 16 bits.
struct NarrowFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool ieee;  // the top exponent holds infinity and NaN
  bool fnuz;  // NaN is the sign bit alone; there is no negative zero
};

/// Of float16, bfloat16 and the float8 types (OFP8; for the fnuz forms AMD's CDNA3 ISA guide).
constexpr NarrowFormat narrow_format(DType dtype) {
  switch (dtype) {
    case DType::f16: return {5, 10, 15, true, false};
    case DType::bf16: return {8, 7, 127, true, false};
    case DType::e5m2: return {5, 2, 15, true, false};
    case DType::e4m3fnuz: return {4, 3, 8, false, true};
    case DType::e5m2fnuz: return {5, 2, 16, false, true};
    default: return {4, 3, 7, false, false};
  }
}

/// The largest finite magnitude, as bits.
constexpr std::uint32_t largest_bits(const NarrowFormat& f) {
  const std::uint32_t ones = (1u << (f.exponent_bits + f.mantissa_bits)) - 1;
  if (f.ieee) return ones - (1u << f.mantissa_bits);
  return f.fnuz ? ones : ones - 1;
}

/// The bits of `value` in a narrow type: nearest, ties to even. Beyond the largest finite value the
/// float8 types saturate (infinities too) and float16 and bfloat16 become infinite, as IEEE 754
/// says. NaN stays NaN, its sign too where the type has one.
inline std::uint16_t to_narrow(DType dtype, float value) {
  const NarrowFormat f = narrow_format(dtype);
  const std::uint32_t sign_bit = 1u << (f.exponent_bits + f.mantissa_bits);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 != 0 ? sign_bit : 0;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    if (f.fnuz) return static_cast<std::uint16_t>(sign_bit);
    if (!f.ieee) return static_cast<std::uint16_t>(sign | (sign_bit - 1));
    const std::uint32_t payload = (magnitude & 0x7fffffu) >> (23 - f.mantissa_bits);
    const std::uint32_t quiet = 1u << (f.mantissa_bits - 1);
    return static_cast<std::uint16_t>(sign | (largest_bits(f) + 1) | payload | quiet);
  }
  const bool saturates = is_float8(dtype);
  const std::uint32_t beyond = saturates ? largest_bits(f) : largest_bits(f) + 1;
  if (magnitude == 0x7f800000u) return static_cast<std::uint16_t>(sign | beyond);
  // In units of the last place at this exponent; the smallest normal's below it.
  int exponent = static_cast<int>(magnitude >> 23) - 127;
  const int smallest = 1 - f.bias;
  if (exponent < smallest) exponent = smallest;
  const double scaled =
      std::ldexp(static_cast<double>(std::fabs(value)), f.mantissa_bits - exponent);
  const auto units =
      static_cast<std::uint64_t>(std::nearbyint(scaled));  // carries into the exponent
  const std::uint64_t narrow =
      units + (static_cast<std::uint64_t>(exponent - smallest) << f.mantissa_bits);
  if (narrow > largest_bits(f)) return static_cast<std::uint16_t>(sign | beyond);
  if (narrow == 0 && f.fnuz) return 0;
  return static_cast<std::uint16_t>(sign | narrow);
}

/// The value of a narrow type's bits, exactly.
inline float from_narrow(DType dtype, std::uint16_t bits) {
  const NarrowFormat f = narrow_format(dtype);
  const std::uint32_t sign_bit = 1u << (f.exponent_bits + f.mantissa_bits);
  const std::uint32_t magnitude = bits & (sign_bit - 1);
  const std::uint32_t sign = (bits & sign_bit) != 0 ? 0x80000000u : 0;
  if (f.fnuz && bits == sign_bit) return std::bit_cast<float>(0x7fc00000u);
  if (magnitude > largest_bits(f)) {
    const std::uint32_t payload =
        f.ieee ? (magnitude << (23 - f.mantissa_bits)) & 0x7fffffu : 0x400000u;
    return std::bit_cast<float>(sign | 0x7f800000u | payload);
  }
  const std::uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const double value = exponent == 0
                           ? std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits)
                           : std::ldexp(static_cast<double>(mantissa + (1u << f.mantissa_bits)),
                                        exponent - f.bias - f.mantissa_bits);
  return std::copysign(static_cast<float>(value), sign != 0 ? -1.f : 1.f);
}

}  // namespace wavefire::core
