// How a matrix instruction sums.
//
// AMD documents no order. Li et al., "FTTN" (2024), and Xie et al., "MMA-Sim: Bit-Accurate
// Reference Model of Tensor Cores and Matrix Cores" (arXiv 2511.10909, with their code), measured
// MI300X:
//
// * f32, f64: a chain of fused multiply-adds in the order of k.
// * f16, bf16 (groups of up to 8 along k), xf32 (4): the products of a group, exact, are cut to 24
//   fractional bits below the largest exponent among them (an element's exponent as it is encoded,
//   so products are in [1, 4)), and summed exactly. Accumulator and sum are then brought to the
//   larger of their exponents, the sum keeping 31 fractional bits and the accumulator 24, both
//   rounded down, added, and rounded to nearest even.
// * fp8 (16): likewise, the even and the odd products of a group first by themselves, each half
//   rounded down to the larger exponent; an accumulator smaller by more than 2^25 is dropped.
// * Subnormals are kept everywhere. Infinities and NaN go as in a sum of products; a product beyond
//   f32 is infinite.
//
// Assumed, for nobody has published it: gfx950 sums as gfx942 does, its longer instructions in more
// groups; a scaled group's sum, and its exponent, are multiplied by the scales of its block of 32;
// sparse instructions sum like dense ones over the kept elements.
#pragma once

#include <limits>

#include "virtual/semantics/matrix_lanes.h"

namespace instinct::INSTINCT_LEVEL {

// Exponents of elements as they are encoded; those of zero and of what is not finite.
inline constexpr i32 kZeroExponent = -1000;
inline constexpr i32 kSpecialExponent = 1000;

enum class Sum : u8 { halves, bytes };  // f16, bf16, xf32; 8 bits and below

// Elements of one group, for one element of the accumulator.
struct Group {
  static constexpr int kMost = 16;
  float a[kMost], b[kMost];
  i32 exponent_a[kMost], exponent_b[kMost];
  int count;
  i32 scale;  // exponent that multiplies the sum
};

struct Partial {
  double units;  // of 2^(exponent - 24)
  i32 exponent;
};

inline Partial sum_of_products(const Group& g, int first, int stride) {
  i32 most = 2 * kZeroExponent;
  for (int k = first; k < g.count; k += stride) {
    const i32 e = g.exponent_a[k] + g.exponent_b[k];
    most = e > most ? e : most;
  }
  double units = 0;
  for (int k = first; k < g.count; k += stride) {
    const double product = static_cast<double>(g.a[k]) * static_cast<double>(g.b[k]);
    if (product != 0.0) units += std::trunc(std::ldexp(product, 24 - most));
  }
  return {units, most};
}

// The sum of products as floats see it, if it is not finite; else 0.
inline double special_sum(const Group& g, float c) {
  double sum = c;
  for (int k = 0; k < g.count; ++k) {
    const double product = static_cast<double>(g.a[k]) * static_cast<double>(g.b[k]);
    const bool beyond = product >= 0x1p128 || product <= -0x1p128;
    const double infinity = std::numeric_limits<double>::infinity();
    sum += beyond ? std::copysign(infinity, product) : product;
  }
  return std::isfinite(sum) ? 0.0 : sum;
}

// c plus the group, as above: for the cases that the vectors leave out, and the reference for them.
inline float add_group(const Group& g, float c, Sum kind) {
  const double special = special_sum(g, c);
  if (special != 0.0) return static_cast<float>(special);
  Partial sum = sum_of_products(g, 0, kind == Sum::bytes ? 2 : 1);
  if (kind == Sum::bytes) {
    const Partial odd = sum_of_products(g, 1, 2);
    const i32 most = sum.exponent > odd.exponent ? sum.exponent : odd.exponent;
    sum.units = std::floor(std::ldexp(sum.units, sum.exponent - most)) +
                std::floor(std::ldexp(odd.units, odd.exponent - most));
    sum.exponent = most;
  }
  // A sum without products is below any accumulator.
  if (sum.exponent <= kZeroExponent / 2) return c + 0.0f;
  sum.exponent += g.scale;
  const u32 field = bits_of(c) >> 23 & 0xff;
  const i32 exponent_c = c == 0.0f ? kZeroExponent : static_cast<i32>(field > 0 ? field : 1) - 127;
  const i32 most = sum.exponent > exponent_c ? sum.exponent : exponent_c;
  const double of_products = std::floor(std::ldexp(sum.units, 7 + sum.exponent - most));
  const bool dropped = kind == Sum::bytes && exponent_c < most - 25;
  const double of_c = dropped ? 0.0 : std::floor(std::ldexp(static_cast<double>(c), 24 - most));
  return static_cast<float>(std::ldexp(of_products + 128.0 * of_c, most - 31));
}

// ---- The same for kWidth accumulators at a time ----

struct VectorSum {
  Ints units, exponent;  // units of 2^(exponent - 24)
};

// Sums and exponents of products: exponents below 2^-100 are given as they are, but then the units
// are wrong; so they are above 2^120 (the caller looks).
template <int kCount, int kFirst, int kStride, class A, class E, class B, class F>
inline VectorSum vector_sum(A a, E exponent_a, B b, F exponent_b) {
  Ints most = all(2 * kZeroExponent);
#pragma GCC unroll 16
  for (int k = kFirst; k < kCount; k += kStride) most = larger(most, exponent_a(k) + exponent_b(k));
  const Ints bounded = larger(most, all(-100));
  // A product is below 2^(most + 2): 26 bits, and 29 for the sum of eight.
  const Floats scale = reinterpret_cast<Floats>((151 - bounded) << 23);
  Ints units{};
#pragma GCC unroll 16
  for (int k = kFirst; k < kCount; k += kStride) {
    units += __builtin_convertvector(a(k) * b(k) * scale, Ints);
  }
  return {units, most};
}

// Lanes of which `vector_sum` does not hold the sum.
inline Ints out_of_range(Ints exponent) {
  const Ints low = exponent<-100, nonzero = exponent> kZeroExponent / 2;
  return low & nonzero;
}

inline Ints exponents_of(Floats c) {
  const Words bits = reinterpret_cast<Words>(c);
  const Ints field = reinterpret_cast<Ints>(bits >> 23 & 0xffu);
  const Ints exponent = larger(field, all(1)) - 127;
  return select<Ints>(reinterpret_cast<Ints>(bits << 1) == 0, all(kZeroExponent), exponent);
}

// Both halves of the 64-bit arithmetic of `finish`.
inline HalfFloats finish_half(HalfInts units, HalfInts exponent, HalfFloats c, HalfInts most,
                              HalfInts keep) {
  const Doubles sum = floors(__builtin_convertvector(units, Doubles) * powers(7 + exponent - most));
  const Doubles wide = __builtin_convertvector(c, Doubles) * powers(24 - most);
  const Longs mask = __builtin_convertvector(keep, Longs);
  const Doubles kept = reinterpret_cast<Doubles>(reinterpret_cast<Longs>(floors(wide)) & mask);
  const Doubles result = (sum + 128.0 * kept) * powers(most - 31);
  return __builtin_convertvector(result, HalfFloats);
}

// c plus the sum. Accumulators that are not finite are the caller's.
template <Sum kKind>
inline Floats finish(VectorSum sum, Floats c, Ints scale) {
  const Ints exponent_c = exponents_of(c);
  const Ints none = sum.exponent <= kZeroExponent / 2;
  const Ints exponent = select<Ints>(none, all(kZeroExponent), sum.exponent + scale);
  const Ints most = larger(larger(exponent, exponent_c), all(-500));
  // Shifts beyond 2^-64 leave the same -1 or 0.
  const Ints near = larger(exponent, most - 80);
  const Ints keep = kKind == Sum::bytes ? reinterpret_cast<Ints>(exponent_c >= most - 25) : all(-1);
  const HalfFloats low =
      finish_half(half_of<HalfInts>(sum.units, false), half_of<HalfInts>(near, false),
                  half_of<HalfFloats>(c, false), half_of<HalfInts>(most, false),
                  half_of<HalfInts>(keep, false));
  const HalfFloats high = finish_half(half_of<HalfInts>(sum.units, true),
                                      half_of<HalfInts>(near, true), half_of<HalfFloats>(c, true),
                                      half_of<HalfInts>(most, true), half_of<HalfInts>(keep, true));
  return joined<Floats>(low, high);
}

// Floor of x * 2^-shift; shifts beyond 31 leave the sign.
inline Ints shifted_down(Ints x, Ints shift) {
  const Ints bounded = shift < 31 ? shift : all(31);
  return x >> bounded;
}

// The even and the odd sum as one. Units stay below 2^30: eight products of at most 2^26 each.
inline VectorSum combined(VectorSum even, VectorSum odd) {
  const Ints most = larger(even.exponent, odd.exponent);
  return {
      shifted_down(even.units, most - even.exponent) + shifted_down(odd.units, most - odd.exponent),
      most};
}

}  // namespace instinct::INSTINCT_LEVEL
