// Number formats: f16, bf16, fp8, fp6, fp4, e8m0 as bits, and their conversions, one value at a
// time and without branches, so that loops over lanes vectorise.
#pragma once

#include "virtual/semantics/base.h"

namespace instinct::INSTINCT_LEVEL {

// Fields of a small float (IEEE 754; OCP 8-bit Floating Point v1.0; OCP Microscaling v1.0; FNUZ:
// "CDNA3 ISA", "Data types": no infinity, no -0, NaN is 0x80, and a bias one higher).
struct Format {
  int exponent, mantissa, bias;
  enum class Top : u8 {
    ieee,    // exponent all ones is infinity or NaN
    nan,     // all ones is NaN
    fnuz,    // -0 is NaN
    finite,  // every pattern is a number
  } top;

  constexpr int bits() const { return 1 + exponent + mantissa; }
  constexpr u32 sign() const { return 1u << (exponent + mantissa); }
  constexpr u32 infinity() const { return ((1u << exponent) - 1) << mantissa; }
  constexpr u32 largest() const {
    return top == Top::ieee ? infinity() - 1 : sign() - (top == Top::nan ? 2 : 1);
  }
  constexpr u32 nan() const {
    return top == Top::ieee   ? infinity() | 1u << (mantissa - 1)
           : top == Top::fnuz ? sign()
                              : sign() - 1;
  }
};

inline constexpr Format f16_format{5, 10, 15, Format::Top::ieee};
inline constexpr Format bf16_format{8, 7, 127, Format::Top::ieee};
inline constexpr Format e4m3_format{4, 3, 7, Format::Top::nan};         // fp8 of gfx950
inline constexpr Format e5m2_format{5, 2, 15, Format::Top::ieee};       // bf8 of gfx950
inline constexpr Format e4m3_fnuz_format{4, 3, 8, Format::Top::fnuz};   // fp8 of gfx942
inline constexpr Format e5m2_fnuz_format{5, 2, 16, Format::Top::fnuz};  // bf8 of gfx942
inline constexpr Format e2m3_format{2, 3, 1, Format::Top::finite};      // fp6
inline constexpr Format e3m2_format{3, 2, 3, Format::Top::finite};      // bf6
inline constexpr Format e2m1_format{2, 1, 1, Format::Top::finite};      // fp4

// Exact. A NaN stays one, quiet, with sign and payload ("CDNA3 ISA", "IEEE mode").
template <Format format>
inline float widen(u32 bits) {
  constexpr int shift = 23 - format.mantissa;
  const u32 sign = (bits & format.sign()) << (32 - format.bits());
  const u32 magnitude = bits & (format.sign() - 1);
  const u32 moved = magnitude << shift;
  u32 normal = moved + ((127u - format.bias) << 23);
  if constexpr (format.bias < 127) {
    // 2^(1 - bias) with the same mantissa, less 2^(1 - bias): the subnormal, normalised.
    constexpr u32 one = (128u - format.bias) << 23;
    const u32 subnormal = bits_of(float_of(moved + one) - float_of(one));
    normal = moved < 0x800000u ? subnormal : normal;
  }
  if constexpr (format.top == Format::Top::ieee) {
    const u32 quiet = magnitude > format.infinity() ? 0x400000u : 0;
    normal = magnitude >= format.infinity() ? 0x7f800000u | (moved & 0x7fffffu) | quiet : normal;
  } else if constexpr (format.top == Format::Top::nan) {
    normal = magnitude == format.sign() - 1 ? 0x7fc00000u : normal;
  }
  const u32 result = sign | normal;
  if constexpr (format.top == Format::Top::fnuz) {
    return float_of((bits & (2 * format.sign() - 1)) == format.sign() ? 0x7fc00000u : result);
  }
  return float_of(result);
}

// What becomes of numbers beyond the largest.
enum class Overflow : u8 {
  natural,   // infinity, or NaN if the format has none; formats without NaN: the largest
  saturate,  // the largest; an infinite source stays what it is (MODE.FP16_OVFL)
};

template <Format format>
inline u32 finish_narrow(u32 magnitude, u32 source, Overflow overflow) {
  constexpr bool is_ieee = format.top == Format::Top::ieee;
  constexpr bool is_finite = format.top == Format::Top::finite;
  const u32 sign = source >> 31 << (format.bits() - 1);
  const u32 size = source & 0x7fffffffu;
  const bool nan = size > 0x7f800000u;
  const bool infinite = size == 0x7f800000u;
  const u32 beyond = is_ieee ? format.infinity() : is_finite ? format.largest() : format.nan();
  const u32 clipped = overflow == Overflow::saturate ? format.largest() : beyond;
  u32 result = magnitude > format.largest() ? clipped : magnitude;
  result = infinite ? beyond : result;
  u32 quiet = is_finite ? format.largest() : format.nan();
  if constexpr (format.mantissa >= 7) quiet |= (size & 0x7fffffu) >> (23 - format.mantissa);
  result = nan ? quiet : result;
  if constexpr (format.top == Format::Top::fnuz) {
    return result == 0 || result == format.sign() ? result : result | sign;
  }
  return result | sign;
}

// To nearest, ties to even; subnormals kept.
template <Format format>
inline u32 narrow(float value, Overflow overflow = Overflow::natural) {
  constexpr int shift = 23 - format.mantissa;
  const u32 source = bits_of(value);
  const u32 size = source & 0x7fffffffu;
  const u32 odd = size >> shift & 1;
  u32 magnitude = (size + ((1u << (shift - 1)) - 1) + odd) >> shift;
  if constexpr (format.bias < 127) {
    magnitude -= (127u - format.bias) << format.mantissa;
    // Adding 2^23 of the smallest subnormal rounds to a multiple of it.
    constexpr u32 magic = (127u + 1 - format.bias - format.mantissa + 23) << 23;
    const u32 subnormal = bits_of(float_of(size) + float_of(magic)) - magic;
    magnitude = size < ((128u - format.bias) << 23) ? subnormal : magnitude;
  }
  return finish_narrow<format>(magnitude, source, overflow);
}

// As a rational number of smallest subnormals: whole part, and the rest as 32 bits with a sticky
// bit. For the rounding modes that are not the default, and for stochastic rounding.
struct Scaled {
  u32 whole;
  u32 rest;
};

template <Format format>
inline Scaled split(u32 size) {
  // In units of the result's last place: a normal number loses shift bits, a subnormal more.
  constexpr int shift = 23 - format.mantissa;
  constexpr int lowest = 128 - format.bias;  // biased f32 exponent of the smallest normal
  const int exponent = static_cast<int>(size >> 23);
  const u32 significand = (size & 0x7fffffu) | (exponent == 0 ? 0 : 0x800000u);
  const int field = exponent == 0 ? 1 : exponent;
  const int extra = field < lowest ? lowest - field : 0;
  const int drop = shift + extra < 40 ? shift + extra : 40;
  const u64 wide = (u64{significand} << 32) >> drop;
  const u64 lost = (u64{significand} << 32) & ((u64{1} << drop) - 1);
  u32 whole = static_cast<u32>(wide >> 32);
  // The implicit bit counts as exponent 1; an exponent field more adds 1 << mantissa.
  if (field > lowest) whole += static_cast<u32>(field - lowest) << format.mantissa;
  return {whole, static_cast<u32>(wide) | (lost != 0 ? 1u : 0u)};
}

template <Format format>
inline u32 narrow_directed(float value, Round round, Overflow overflow = Overflow::natural) {
  const u32 source = bits_of(value);
  const Scaled scaled = split<format>(source & 0x7fffffffu);
  const bool negative = source >> 31 != 0;
  const bool away = scaled.rest != 0 && (round == Round::up     ? !negative
                                         : round == Round::down ? negative
                                                                : false);
  u32 magnitude = scaled.whole + (away ? 1 : 0);
  const bool finite = (source & 0x7fffffffu) < 0x7f800000u;
  // Rounded towards zero, nothing finite becomes infinite (IEEE 754, 7.4).
  const bool towards = round == Round::zero || (round == Round::up && negative) ||
                       (round == Round::down && !negative);
  if (finite && towards && magnitude > format.largest()) magnitude = format.largest();
  return finish_narrow<format>(magnitude, source, overflow);
}

// In any rounding mode.
template <Format format>
inline u32 narrow(float value, Round round, Overflow overflow = Overflow::natural) {
  return round == Round::nearest ? narrow<format>(value, overflow)
                                 : narrow_directed<format>(value, round, overflow);
}

// The names that handlers use.
inline float f32_of_f16(u16 bits) { return widen<f16_format>(bits); }
inline float f32_of_bf16(u16 bits) { return widen<bf16_format>(bits); }
inline u16 f16_of_f32(float value) { return static_cast<u16>(narrow<f16_format>(value)); }
inline u16 f16_of_f32(float value, Round round, Overflow overflow = Overflow::natural) {
  return static_cast<u16>(narrow<f16_format>(value, round, overflow));
}
inline u16 bf16_of_f32(float value) { return static_cast<u16>(narrow<bf16_format>(value)); }

// 2^(bits - 127), 0xff is NaN (OCP Microscaling v1.0, "E8M0").
inline float f32_of_e8m0(u32 bits) {
  const u32 scale = bits & 0xff;
  const u32 normal = scale == 0 ? 0x00400000u : scale << 23;
  return float_of(scale == 0xff ? 0x7fc00000u : normal);
}

}  // namespace instinct::INSTINCT_LEVEL
