// Number formats, one value at a time: what each bit pattern means, and the conversions with the
// rounding that the instructions use. All functions are branch-free where lane loops need them.
#pragma once

#include "types.h"

namespace instinct::semantics {

// Widening is exact. A NaN keeps its sign and payload, quietened (CDNA3 ISA guide, "NaN").
float f32_of_f16(u16 bits);
float f32_of_bf16(u16 bits);

/// f32 to f16 in a rounding mode; subnormals kept; overflow to infinity (or what `round` says).
u16 f16_of_f32(float value, Round round = Round::nearest_even);
u16 f16_of_f64(double value, Round round = Round::nearest_even);
/// f32 to bf16, nearest even: v_cvt_pk_bf16_f32 (CDNA4 ISA guide); NaN stays NaN.
u16 bf16_of_f32(float value);

/// A format of at most 8 bits, by its fields. (OCP 8-bit Floating Point v1.0; OCP Microscaling
/// v1.0; FNUZ: CDNA3 ISA guide, "FP8 and BF8": no infinity, no -0, NaN is 0x80, bias one higher.)
struct SmallFormat {
  int exponent_bits, mantissa_bits, bias;
  bool infinity;  // e5m2: exponent all ones is infinity or NaN
  bool nan_ones;  // e4m3fn: all ones is NaN
  bool fnuz;      // 0x80 is NaN

  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
};

inline constexpr SmallFormat kE4m3Fnuz{4, 3, 8, false, false, true};
inline constexpr SmallFormat kE5m2Fnuz{5, 2, 16, false, false, true};
inline constexpr SmallFormat kE4m3{4, 3, 7, false, true, false};
inline constexpr SmallFormat kE5m2{5, 2, 15, true, false, false};
inline constexpr SmallFormat kE2m3{2, 3, 1, false, false, false};  // fp6
inline constexpr SmallFormat kE3m2{3, 2, 3, false, false, false};  // bf6
inline constexpr SmallFormat kE2m1{2, 1, 1, false, false, false};  // fp4

/// Exact.
float f32_of_small(const SmallFormat& format, u8 bits);

/// Nearest even. Overflow: the largest finite if `saturate`, else what the format has for it: NaN
/// (fnuz, e4m3fn), infinity (e5m2); fp6 and fp4 always saturate. NaN: NaN, or fp6/fp4's largest.
u8 small_of_f32(const SmallFormat& format, float value, bool saturate);

/// Stochastic: the bits below the kept ones plus `seed`'s top bits of the same number, then cut.
u8 small_of_f32_stochastic(const SmallFormat& format, float value, u32 seed, bool saturate);

/// 2^(bits - 127); 0xff is NaN (OCP Microscaling v1.0, E8M0).
float f32_of_e8m0(u8 bits);

}  // namespace instinct::semantics
