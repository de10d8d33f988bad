// v_cvt_* between integers and floats, and the packing ones ("CDNA3 ISA", VOP1 and VOP3A). Float
// to integer truncates, saturates, and makes NaN 0, unless said otherwise. fp8: fp8.h.
#pragma once

#include "virtual/semantics/arithmetic.h"

namespace instinct::INSTINCT_LEVEL {

// `x` to T, bounded; NaN to 0.
template <class T, class F>
inline T saturate(F x) {
  constexpr F lowest = static_cast<F>(std::numeric_limits<T>::min());
  // One more than the largest, which is a power of two.
  constexpr T half = std::numeric_limits<T>::max() / 2 + 1;
  constexpr F end = static_cast<F>(half) * F{2};
  const F safe = x >= lowest && x < end ? x : F{0};
  T y = static_cast<T>(safe);
  y = x >= end ? std::numeric_limits<T>::max() : y;
  return x < lowest ? std::numeric_limits<T>::min() : y;
}

inline i32 v_cvt_i32_f32(float x) { return saturate<i32>(x); }
inline u32 v_cvt_u32_f32(float x) {
  // Through two signed halves: no CPU level below AVX-512 has the unsigned conversion.
  const bool upper = x >= 2147483648.0f;
  const i32 part = saturate<i32>(upper ? x - 2147483648.0f : x);
  const u32 y = static_cast<u32>(part < 0 ? 0 : part) + (upper ? 0x80000000u : 0u);
  return x >= 4294967296.0f ? 0xffffffffu : y;
}
inline i32 v_cvt_i32_f64(double x) { return saturate<i32>(x); }
inline u32 v_cvt_u32_f64(double x) { return saturate<u32>(x); }
inline i16 v_cvt_i16_f16(u16 x) { return saturate<i16>(f32_of_f16(x)); }
inline u16 v_cvt_u16_f16(u16 x) { return saturate<u16>(f32_of_f16(x)); }

// Nearest integer, halves up: floor(x + 1/2). Floor.
inline i32 v_cvt_rpi_i32_f32(float x) {
  return saturate<i32>(std::floor(static_cast<double>(x) + 0.5));
}
inline i32 v_cvt_flr_i32_f32(float x) { return saturate<i32>(std::floor(x)); }

inline float v_cvt_f32_i32(i32 x) { return static_cast<float>(x); }
inline float v_cvt_f32_u32(u32 x) {
  // Exact in f64, where the signed conversion is enough.
  const double value = static_cast<double>(static_cast<i32>(x ^ 0x80000000u)) + 2147483648.0;
  return static_cast<float>(value);
}
inline double v_cvt_f64_i32(i32 x) { return x; }
inline double v_cvt_f64_u32(u32 x) {
  return static_cast<double>(static_cast<i32>(x ^ 0x80000000u)) + 2147483648.0;
}
inline float v_cvt_f32_f64(double x) { return static_cast<float>(x); }
inline double v_cvt_f64_f32(float x) { return x; }
inline float v_cvt_f32_ubyte(u32 x, u32 byte) {
  return static_cast<float>(static_cast<i32>(x >> (8 * byte) & 0xff));
}
inline u16 v_cvt_f16_u16(u16 x, Round round = Round::nearest) {
  return f16_of_f32(static_cast<float>(static_cast<i32>(x)), round);
}
inline u16 v_cvt_f16_i16(i16 x, Round round = Round::nearest) {
  return f16_of_f32(static_cast<float>(x), round);
}
// Four bits, signed, in sixteenths: for sample positions.
inline float v_cvt_off_f32_i4(u32 x) {
  const i32 value = static_cast<i32>(x << 28) >> 28;
  return static_cast<float>(value) * 0.0625f;
}

// [-1, 1] or [0, 1] to integers, to nearest even; NaN to 0.
inline i16 snorm16(float x) {
  const float low = x > -1.0f ? x : -1.0f;
  const float bounded = low < 1.0f ? low : 1.0f;
  const double scaled = std::nearbyint(static_cast<double>(bounded) * 32767.0);
  return is_nan(x) ? i16{0} : static_cast<i16>(scaled);
}
inline u16 unorm16(float x) {
  const float low = x > 0.0f ? x : 0.0f;
  const float bounded = low < 1.0f ? low : 1.0f;
  return static_cast<u16>(static_cast<i32>(std::nearbyint(static_cast<double>(bounded) * 65535.0)));
}
inline i16 v_cvt_norm_i16_f16(u16 x) { return snorm16(f32_of_f16(x)); }
inline u16 v_cvt_norm_u16_f16(u16 x) { return unorm16(f32_of_f16(x)); }
inline u32 v_cvt_pknorm_i16_f32(float a, float b) {
  return pack_halves(static_cast<u16>(snorm16(a)), static_cast<u16>(snorm16(b)));
}
inline u32 v_cvt_pknorm_u16_f32(float a, float b) { return pack_halves(unorm16(a), unorm16(b)); }
inline u32 v_cvt_pknorm_i16_f16(u16 a, u16 b) {
  return v_cvt_pknorm_i16_f32(f32_of_f16(a), f32_of_f16(b));
}
inline u32 v_cvt_pknorm_u16_f16(u16 a, u16 b) {
  return v_cvt_pknorm_u16_f32(f32_of_f16(a), f32_of_f16(b));
}

// f16 pairs: towards zero whatever the mode; to nearest whatever the mode (gfx950).
inline u32 v_cvt_pkrtz_f16_f32(float a, float b) {
  return pack_halves(f16_of_f32(a, Round::zero), f16_of_f32(b, Round::zero));
}
inline u32 v_cvt_pk_f16_f32(float a, float b) { return pack_halves(f16_of_f32(a), f16_of_f32(b)); }
inline u32 v_cvt_pk_bf16_f32(float a, float b) {
  return pack_halves(bf16_of_f32(a), bf16_of_f32(b));
}
inline u32 v_pack_b32_f16(u16 a, u16 b) { return pack_halves(a, b); }

// Integer pairs, saturated.
inline u16 saturate_u16(u32 x) { return static_cast<u16>(x < 0xffff ? x : 0xffff); }
inline i16 saturate_i16(i32 x) {
  const i32 low = x > -32768 ? x : -32768;
  return static_cast<i16>(low < 32767 ? low : 32767);
}
inline u8 saturate_u8(i32 x) {
  const i32 low = x > 0 ? x : 0;
  return static_cast<u8>(low < 255 ? low : 255);
}
inline i8 saturate_i8(i32 x) {
  const i32 low = x > -128 ? x : -128;
  return static_cast<i8>(low < 127 ? low : 127);
}
inline u32 v_cvt_pk_u16_u32(u32 a, u32 b) { return pack_halves(saturate_u16(a), saturate_u16(b)); }
inline u32 v_cvt_pk_i16_i32(i32 a, i32 b) {
  return pack_halves(static_cast<u16>(saturate_i16(a)), static_cast<u16>(saturate_i16(b)));
}
inline u16 v_sat_pk_u8_i16(u32 x) {
  const u32 low = saturate_u8(static_cast<i16>(low_half(x)));
  const u32 high = saturate_u8(static_cast<i16>(high_half(x)));
  return static_cast<u16>(low | high << 8);
}
// gfx950: shifted right by c, saturated to bytes.
inline u16 v_ashr_pk_i8_i32(i32 a, i32 b, u32 c) {
  const u32 low = static_cast<u8>(saturate_i8(a >> (c & 31)));
  const u32 high = static_cast<u8>(saturate_i8(b >> (c & 31)));
  return static_cast<u16>(low | high << 8);
}
inline u16 v_ashr_pk_u8_i32(i32 a, i32 b, u32 c) {
  const u32 low = saturate_u8(a >> (c & 31)), high = saturate_u8(b >> (c & 31));
  return static_cast<u16>(low | high << 8);
}

// f32 to a byte in the mode's rounding, saturated ("GCN3 ISA", V_CVT_PK_U8_F32), put into byte b of
// c.
inline u32 byte_of_f32(float x, Round round = Round::nearest) {
  const float low = x > 0.0f ? x : 0.0f;
  const float bounded = low < 255.0f ? low : 255.0f;
  float y = std::nearbyint(bounded);
  if (round == Round::up) y = std::ceil(bounded);
  if (round == Round::down || round == Round::zero) y = std::floor(bounded);
  return static_cast<u32>(static_cast<i32>(y));
}
inline u32 v_cvt_pk_u8_f32(float x, u32 byte, u32 c, Round round = Round::nearest) {
  const u32 shift = 8 * (byte & 3);
  return (c & ~(0xffu << shift)) | byte_of_f32(x, round) << shift;
}

// gfx950: a step of a linear feedback shift register ("CDNA4 ISA", V_PRNG_B32).
inline u32 v_prng_b32(u32 x) { return x << 1 ^ (x >> 31 != 0 ? 197u : 0u); }

}  // namespace instinct::INSTINCT_LEVEL
