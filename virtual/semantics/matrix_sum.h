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
inline constexpr i32 zero_exponent = -1000;
inline constexpr i32 special_exponent = 1000;

enum class Sum : u8 { halves, bytes };  // f16, bf16, xf32; 8 bits and below

// Elements of one group, for one element of the accumulator.
struct Group {
  static constexpr int capacity = 16;
  float a[capacity], b[capacity];
  i32 exponent_a[capacity], exponent_b[capacity];
  int count;
  i32 scale;  // exponent that multiplies the sum
};

struct Partial {
  double units;  // of 2^(exponent - 24)
  i32 exponent;
};

inline Partial sum_of_products(const Group& g, int first, int stride) {
  i32 most = 2 * zero_exponent;
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
  if (sum.exponent <= zero_exponent / 2) return c + 0.0f;
  sum.exponent += g.scale;
  const u32 field = bits_of(c) >> 23 & 0xff;
  const i32 exponent_c = c == 0.0f ? zero_exponent : static_cast<i32>(field > 0 ? field : 1) - 127;
  const i32 most = sum.exponent > exponent_c ? sum.exponent : exponent_c;
  const double of_products = std::floor(std::ldexp(sum.units, 7 + sum.exponent - most));
  const bool dropped = kind == Sum::bytes && exponent_c < most - 25;
  const double of_c = dropped ? 0.0 : std::floor(std::ldexp(static_cast<double>(c), 24 - most));
  return static_cast<float>(std::ldexp(of_products + 128.0 * of_c, most - 31));
}

// ---- The same for vector_width accumulators at a time ----

struct VectorSum {
  Ints units, exponent;  // units of 2^(exponent - 24)
};

// Elements first_term, first_term + term_stride, ... of a group, at the offsets that Places has for
// them.
struct Operands {
  const float *a, *b;
  const i32 *exponent_a, *exponent_b;
};

// Sums and exponents of products. Exponents below -100 are given as they are, but then the units
// are wrong; so they are if any product has an exponent above 120 (the caller looks).
template <class Places, int first_term, int term_stride>
[[gnu::always_inline]] inline VectorSum vector_sum(const Operands& o) {
  Ints most = all(2 * zero_exponent);
#pragma GCC unroll 16
  for (int k = first_term; k < Places::term_count; k += term_stride) {
    const Ints b = load_vector<Ints>(o.exponent_b + Places::offsets_b[k]);
    most = larger(most, o.exponent_a[Places::offsets_a[k]] + b);
  }
  const Ints bounded = larger(most, all(-100));
  // A product is below 2^(most + 2): 26 bits, and 29 for the sum of eight.
  const Floats scale = reinterpret_cast<Floats>((151 - bounded) << 23);
  Words units{};  // of infinities and NaN, which the caller looks for, the sum may wrap
#pragma GCC unroll 16
  for (int k = first_term; k < Places::term_count; k += term_stride) {
    const Floats product =
        o.a[Places::offsets_a[k]] * load_vector<Floats>(o.b + Places::offsets_b[k]);
    units += reinterpret_cast<Words>(__builtin_convertvector(product * scale, Ints));
  }
  return {reinterpret_cast<Ints>(units), most};
}

// Lanes of which `vector_sum` does not hold the sum.
inline Ints out_of_range(Ints exponent) {
  const Ints low = exponent<-100, nonzero = exponent> zero_exponent / 2;
  return low & nonzero;
}

inline Ints exponents_of(Floats c) {
  const Words bits = reinterpret_cast<Words>(c);
  const Ints field = reinterpret_cast<Ints>(bits >> 23 & 0xffu);
  const Ints exponent = larger(field, all(1)) - 127;
  return select<Ints>(reinterpret_cast<Ints>(bits << 1) == 0, all(zero_exponent), exponent);
}

// Floor of x * 2^-shift; shifts beyond 31 leave the sign.
inline Ints shifted_down(Ints x, Ints shift) {
  const Ints bounded = shift < 31 ? shift : all(31);
  return x >> bounded;
}

// The even and the odd sum as one. Units stay below 2^30: eight products of at most 2^26 each.
[[gnu::always_inline]] inline VectorSum combined(VectorSum even, VectorSum odd) {
  const Ints most = larger(even.exponent, odd.exponent);
  return {
      shifted_down(even.units, most - even.exponent) + shifted_down(odd.units, most - odd.exponent),
      most};
}

// What `finish` adds: a sum of products of 2^(exponent - 24), and an accumulator.
struct Terms {
  Ints units, exponent;
  Floats c;
  Ints exponent_c, most;  // the larger exponent
  Ints keep;              // lanes whose accumulator counts
};

// c as a multiple of 2^(most - 24), rounded down; and the exact sum of both, rounded to f32.
#if defined(__AVX512DQ__)
[[gnu::always_inline]] inline Ints accumulator_units(const Terms& t) {
  const Words bits = reinterpret_cast<Words>(t.c);
  const Words hidden = reinterpret_cast<Words>((bits & 0x7f800000u) != 0) & 0x800000u;
  const Ints twice = reinterpret_cast<Ints>(((bits & 0x7fffffu) | hidden) << 1);
  const Ints sign = reinterpret_cast<Ints>(bits) >> 31;
  return shifted_down((twice ^ sign) - sign, t.most - t.exponent_c) & t.keep;
}
[[gnu::always_inline]] inline HalfFloats finish_half(HalfInts units, HalfInts shift, HalfInts of_c,
                                                     HalfInts scale) {
  const Longs products = (to_longs(units) << 7) >> to_longs(shift);
  const Doubles sum = to_doubles(products + (to_longs(of_c) << 7));
  return to_floats(reinterpret_cast<Doubles>(_mm512_maskz_scalef_pd(
      0xff, reinterpret_cast<__m512d>(sum), reinterpret_cast<__m512d>(to_doubles(scale)))));
}
[[gnu::always_inline]] inline Floats finish_terms(const Terms& t) {
  const Ints of_c = accumulator_units(t), scale = t.most - 31;
  const Ints apart = t.most - t.exponent, shift = apart < 63 ? apart : all(63);
  const HalfLanes half;
  return joined(
      finish_half(lower(t.units, half), lower(shift, half), lower(of_c, half), lower(scale, half)),
      finish_half(upper(t.units, half), upper(shift, half), upper(of_c, half), upper(scale, half)),
      AllLanes());
}
#else
[[gnu::always_inline]] inline HalfFloats finish_half(HalfInts units, HalfInts exponent,
                                                     HalfFloats c, HalfInts most, HalfInts keep) {
  const Doubles sum = floors(to_doubles(units) * powers(7 + exponent - most));
  const Longs of_c = reinterpret_cast<Longs>(floors(to_doubles(c) * powers(24 - most)));
  const Doubles kept = reinterpret_cast<Doubles>(of_c & to_longs(keep));
  return to_floats((sum + 128.0 * kept) * powers(most - 31));
}
[[gnu::always_inline]] inline Floats finish_terms(const Terms& t) {
  // Shifts beyond 2^-64 leave the same -1 or 0.
  const Ints near = larger(t.exponent, t.most - 80);
  const HalfLanes half;
  return joined(finish_half(lower(t.units, half), lower(near, half), lower(t.c, half),
                            lower(t.most, half), lower(t.keep, half)),
                finish_half(upper(t.units, half), upper(near, half), upper(t.c, half),
                            upper(t.most, half), upper(t.keep, half)),
                AllLanes());
}
#endif

// c plus the sum. Accumulators that are not finite are the caller's.
template <Sum sum_kind>
[[gnu::always_inline]] inline Floats finish(VectorSum sum, Floats c, Ints scale) {
  const Ints none = sum.exponent <= zero_exponent / 2;
  const Ints exponent = select<Ints>(none, all(zero_exponent), sum.exponent + scale);
  const Ints exponent_c = exponents_of(c);
  const Ints most = larger(larger(exponent, exponent_c), all(-500));
  const Ints keep =
      sum_kind == Sum::bytes ? reinterpret_cast<Ints>(exponent_c >= most - 25) : all(-1);
  return finish_terms({sum.units, exponent, c, exponent_c, most, keep});
}

}  // namespace instinct::INSTINCT_LEVEL
