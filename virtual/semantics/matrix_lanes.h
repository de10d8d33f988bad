// Vectors as wide as the level's registers, for matrix_sum.h. (GCC's and clang's vector
// extensions.)
#pragma once

#include <cstring>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "virtual/semantics/base.h"

namespace instinct::INSTINCT_LEVEL {

#if defined(__AVX512F__)
inline constexpr int vector_width = 16;
#elif defined(__AVX2__)
inline constexpr int vector_width = 8;
#else
inline constexpr int vector_width = 4;
#endif

using Floats [[gnu::vector_size(4 * vector_width)]] = float;
using Ints [[gnu::vector_size(4 * vector_width)]] = i32;
using Words [[gnu::vector_size(4 * vector_width)]] = u32;
// Half as many: one register of 64-bit elements.
using HalfFloats [[gnu::vector_size(2 * vector_width)]] = float;
using HalfInts [[gnu::vector_size(2 * vector_width)]] = i32;
using Doubles [[gnu::vector_size(4 * vector_width)]] = double;
using Longs [[gnu::vector_size(4 * vector_width)]] = i64;

template <class V, class T>
inline V load_vector(const T* p) {
  static_assert(sizeof(T) == 4);
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
inline void store_vector(T* p, V v) {
  std::memcpy(p, &v, sizeof v);
}
template <class V>
inline V select(Ints mask, V yes, V no) {
  return mask ? yes : no;
}
inline Ints larger(Ints a, Ints b) { return a > b ? a : b; }
inline Floats all(float x) { return x - Floats{}; }
inline Ints all(i32 x) { return x - Ints{}; }

// Halves of a vector, and a vector of two halves: in registers.
template <class V, size_t... lane>
[[gnu::always_inline]] inline auto lower(V v, std::index_sequence<lane...>) {
  return __builtin_shufflevector(v, v, lane...);
}
template <class V, size_t... lane>
[[gnu::always_inline]] inline auto upper(V v, std::index_sequence<lane...>) {
  return __builtin_shufflevector(v, v, (lane + sizeof...(lane))...);
}
template <class Half, size_t... lane>
[[gnu::always_inline]] inline auto joined(Half low, Half high, std::index_sequence<lane...>) {
  return __builtin_shufflevector(low, high, lane...);
}
using HalfLanes = std::make_index_sequence<vector_width / 2>;
using AllLanes = std::make_index_sequence<vector_width>;

// Conversions, where GCC 12 splits those of vectors that differ in size.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
inline Longs to_longs(HalfInts v) {
  return reinterpret_cast<Longs>(_mm512_maskz_cvtepi32_epi64(0xff, reinterpret_cast<__m256i>(v)));
}
inline Doubles to_doubles(HalfInts v) {
  return reinterpret_cast<Doubles>(_mm512_maskz_cvtepi32_pd(0xff, reinterpret_cast<__m256i>(v)));
}
inline Doubles to_doubles(HalfFloats v) {
  return reinterpret_cast<Doubles>(_mm512_maskz_cvtps_pd(0xff, reinterpret_cast<__m256>(v)));
}
inline Doubles to_doubles(Longs v) {
  return reinterpret_cast<Doubles>(_mm512_maskz_cvtepi64_pd(0xff, reinterpret_cast<__m512i>(v)));
}
inline HalfFloats to_floats(Doubles v) {
  return reinterpret_cast<HalfFloats>(_mm512_maskz_cvtpd_ps(0xff, reinterpret_cast<__m512d>(v)));
}
#elif defined(__AVX2__)
inline Longs to_longs(HalfInts v) {
  return reinterpret_cast<Longs>(_mm256_cvtepi32_epi64(reinterpret_cast<__m128i>(v)));
}
inline Doubles to_doubles(HalfInts v) {
  return reinterpret_cast<Doubles>(_mm256_cvtepi32_pd(reinterpret_cast<__m128i>(v)));
}
inline Doubles to_doubles(HalfFloats v) {
  return reinterpret_cast<Doubles>(_mm256_cvtps_pd(reinterpret_cast<__m128>(v)));
}
inline HalfFloats to_floats(Doubles v) {
  return reinterpret_cast<HalfFloats>(_mm256_cvtpd_ps(reinterpret_cast<__m256d>(v)));
}
#else
inline Longs to_longs(HalfInts v) { return __builtin_convertvector(v, Longs); }
inline Doubles to_doubles(HalfInts v) { return __builtin_convertvector(v, Doubles); }
inline Doubles to_doubles(HalfFloats v) { return __builtin_convertvector(v, Doubles); }
inline HalfFloats to_floats(Doubles v) { return __builtin_convertvector(v, HalfFloats); }
#endif

// 2^e for -1022 <= e <= 1023.
inline Doubles powers(HalfInts e) { return reinterpret_cast<Doubles>((to_longs(e) + 1023) << 52); }
// The next integer below, for |x| < 2^51.
inline Doubles floors(Doubles x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Doubles>(_mm512_floor_pd(reinterpret_cast<__m512d>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<Doubles>(_mm256_floor_pd(reinterpret_cast<__m256d>(x)));
#else
  constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
  const Doubles nearest = (x + round) - round;
  const Doubles one = Doubles{} + 1.0;
  return nearest - (nearest > x ? one : Doubles{});
#endif
}

}  // namespace instinct::INSTINCT_LEVEL
