// Operations on one element of a fragment. An element is a float on a GPU lane and on the scalar
// CPU; the vector CPU levels add overloads of the same names for their vectors (cpu/<level>/vec.h).
// Kernel code calls these names only, so that masks, variant hooks and math vectorise unchanged.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(tile)

WF_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WF_DEVICE float min(float a, float b) { return a < b ? a : b; }
WF_DEVICE float max(float a, float b) { return a > b ? a : b; }
WF_DEVICE float abs(float a) { return __builtin_fabsf(a); }
WF_DEVICE float reciprocal_short(float a) { return 1.f / a; }  // to 14 bits or better
WF_DEVICE float sqrt(float a) { return __builtin_sqrtf(a); }
WF_DEVICE i32 min(i32 a, i32 b) { return a < b ? a : b; }
WF_DEVICE i32 max(i32 a, i32 b) { return a > b ? a : b; }
WF_DEVICE i64 min(i64 a, i64 b) { return a < b ? a : b; }
WF_DEVICE i64 max(i64 a, i64 b) { return a > b ? a : b; }

WF_DEVICE bool less(float a, float b) { return a < b; }
WF_DEVICE bool less_equal(float a, float b) { return a <= b; }
WF_DEVICE bool equal(float a, float b) { return a == b; }
WF_DEVICE bool less(i32 a, i32 b) { return a < b; }
WF_DEVICE bool less_equal(i32 a, i32 b) { return a <= b; }
WF_DEVICE bool equal(i32 a, i32 b) { return a == b; }
WF_DEVICE bool both(bool a, bool b) { return a && b; }
WF_DEVICE bool either(bool a, bool b) { return a || b; }
WF_DEVICE bool negate(bool a) { return !a; }
WF_DEVICE bool any(bool a) { return a; }
WF_DEVICE bool all(bool a) { return a; }
WF_DEVICE float select(bool keep, float a, float b) { return keep ? a : b; }
WF_DEVICE i32 select(bool keep, i32 a, i32 b) { return keep ? a : b; }

// Nearest even. The argument must be within the range of i32.
WF_DEVICE i32 round_to_int(float a) { return static_cast<i32>(__builtin_rintf(a)); }
WF_DEVICE float to_float(i32 a) { return static_cast<float>(a); }
WF_DEVICE i32 to_bits(float a) { return __builtin_bit_cast(i32, a); }
WF_DEVICE float from_bits(i32 a) { return __builtin_bit_cast(float, a); }
WF_DEVICE i32 shift_right_logical(i32 a, int count) {
  return static_cast<i32>(static_cast<u32>(a) >> count);
}

WF_DEVICE float reduce_add(float a) { return a; }
WF_DEVICE float reduce_max(float a) { return a; }
WF_DEVICE float reduce_min(float a) { return a; }

/// What belongs to an element type: its width and the integer and mask types of the same width.
template <class Element>
struct ElementTraits;

template <>
struct ElementTraits<float> {
  static constexpr int width = 1;
  using Int = i32;
  using Mask = bool;
  WF_DEVICE static float splat(float a) { return a; }
  WF_DEVICE static i32 splat_int(i32 a) { return a; }
  WF_DEVICE static i32 iota() { return 0; }  // 0, 1, 2, ...
  WF_DEVICE static float load(const float* p) { return *p; }
  WF_DEVICE static void store(float* p, float a) { *p = a; }
};

inline constexpr float infinity = __builtin_bit_cast(float, 0x7f800000);
inline constexpr float quiet_nan = __builtin_bit_cast(float, 0x7fc00000);

/// Lanes 2i and 2i + 1 exchanged: elements of several lanes only.
template <class E>
E swap_pairs(E a);

// Powers of two. A level whose machine has instructions for these two adds overloads.

/// The whole number nearest to x (`whole`) and what is left of x. Beyond [-151, 129], where every
/// power is 0 or infinite, `whole` is the bound.
template <class E>
WF_DEVICE E split_whole(E x, E& whole) {
  using T = ElementTraits<E>;
  // The bounds come first: a comparison with NaN is false and leaves x.
  x = min(T::splat(129.f), x);
  x = max(T::splat(-151.f), x);
  whole = to_float(round_to_int(x));
  return x - whole;
}

/// a * 2^n for a whole n in [-300, 300], rounded once: in two steps, so that neither power leaves
/// the normal range.
template <class E>
WF_DEVICE E scale_by_power(E a, E n) {
  const auto whole = round_to_int(n);
  const auto half = round_to_int(n * ElementTraits<E>::splat(0.5f));
  const auto power = [](auto k) { return from_bits((k + 127) << 23); };
  return a * power(half) * power(whole - half);
}

WF_NAMESPACE_END
