// fp8, bf8, fp6, bf6, fp4: v_cvt_pk_fp8_f32 and its kin, stochastic rounding, and gfx950's scaled
// conversions ("CDNA3 ISA", V_CVT_PK_FP8_F32, V_CVT_SR_FP8_F32; "CDNA4 ISA", V_CVT_SCALEF32_*).
// fp8_format and bf8_format are FNUZ on gfx942, OCP on gfx950: pass the Format.
#pragma once

#include "virtual/semantics/arithmetic.h"

namespace instinct::INSTINCT_LEVEL {

template <bool is_ocp>
inline constexpr Format fp8_format = is_ocp ? e4m3_format : e4m3_fnuz_format;
template <bool is_ocp>
inline constexpr Format bf8_format = is_ocp ? e5m2_format : e5m2_fnuz_format;

inline u32 byte_of(u32 word, u32 byte) { return word >> (8 * byte) & 0xff; }
inline u32 insert_byte(u32 word, u32 byte, u32 value) {
  return (word & ~(0xffu << (8 * byte))) | value << (8 * byte);
}
inline u32 insert_half(u32 word, bool high, u32 value) {
  return high ? (word & 0xffffu) | value << 16 : (word & 0xffff0000u) | value;
}

// v_cvt_f32_fp8 of a byte of the word; v_cvt_pk_f32_fp8 of two: see widen<>.
template <Format format>
inline float f32_of_byte(u32 word, u32 byte) {
  return widen<format>(byte_of(word, byte));
}
// v_cvt_pk_fp8_f32: two bytes. Beyond the largest: NaN (e5m2: infinity), or the largest with
// FP16_OVFL.
template <Format format>
inline u32 pack_bytes(float a, float b, Overflow overflow = Overflow::natural) {
  return narrow<format>(a, overflow) | narrow<format>(b, overflow) << 8;
}

// Stochastic: the seed's top bits, as many as an f32 has more than the format, are added below the
// last place, and the sum is cut. (The guides' text adds them and then rounds to nearest, which
// would be biased, and lets the mantissa wrap; assumed is what AMD's hip_fp8.h does in software.)
template <Format format>
inline u32 narrow_stochastic(float value, u32 seed, Overflow overflow = Overflow::natural) {
  const u32 source = bits_of(value);
  const Scaled scaled = split<format>(source & 0x7fffffffu);
  const u32 random = seed & (~0u << (9 + format.mantissa));
  const u32 carry = static_cast<u32>((u64{scaled.rest} + random) >> 32);
  return finish_narrow<format>(scaled.whole + carry, source, overflow);
}

// gfx950: f32 to f16 and bf16 with a seed.
inline u16 v_cvt_sr_f16_f32(float x, u32 seed) {
  return static_cast<u16>(narrow_stochastic<f16_format>(x, seed));
}
inline u16 v_cvt_sr_bf16_f32(float x, u32 seed) {
  return static_cast<u16>(narrow_stochastic<bf16_format>(x, seed));
}

// ---- Scaled: the scale is 2^(e - 127) with the exponent field e of an f32 ----

// The power that multiplies; NaN for the field 255.
inline double scale_of_f32(float scale) {
  const u32 field = bits_of(scale) >> 23 & 0xff;
  const u64 bits = static_cast<u64>(field + 1023 - 127) << 52;
  return double_of(field == 255 ? 0x7ff8000000000000u : bits);
}

// x times the scale.
template <Format format>
inline float widen_scaled(u32 bits, float scale) {
  return static_cast<float>(static_cast<double>(widen<format>(bits)) * scale_of_f32(scale));
}

// x divided by the scale, in f32, odd where inexact and never infinite unless x is: what a rounding
// to at most 11 bits then makes of it is right.
inline float divided_by_scale(float x, float scale) {
  const double y = static_cast<double>(x) / scale_of_f32(scale);
  const float odd = to_odd(y);
  const bool overflowed =
      (bits_of(odd) & 0x7fffffffu) == 0x7f800000u && (bits_of(x) & 0x7f800000u) != 0x7f800000u;
  return overflowed ? float_of((bits_of(odd) & 0x80000000u) | 0x7f7fffffu) : odd;
}
template <Format format>
inline u32 narrow_scaled(float x, float scale, Overflow overflow = Overflow::natural) {
  return narrow<format>(divided_by_scale(x, scale), overflow);
}
template <Format format>
inline u32 narrow_scaled_stochastic(float x, float scale, u32 seed,
                                    Overflow overflow = Overflow::natural) {
  return narrow_stochastic<format>(divided_by_scale(x, scale), seed, overflow);
}

// Element i of 32 six-bit ones in six words.
inline u32 six_bits(const u32 (&words)[6], u32 i) {
  const u32 bit = 6 * i, word = bit / 32, shift = bit % 32;
  const u64 pair = words[word] | (word < 5 ? u64{words[word + 1]} << 32 : 0);
  return static_cast<u32>(pair >> shift) & 63;
}
inline void put_six_bits(u32 (&words)[6], u32 i, u32 value) {
  const u32 bit = 6 * i, word = bit / 32, shift = bit % 32;
  words[word] |= value << shift;
  if (shift > 26) words[word + 1] |= value >> (32 - shift);
}

}  // namespace instinct::INSTINCT_LEVEL
