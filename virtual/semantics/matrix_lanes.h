// Vectors as wide as the level's registers, for matrix_sum.h. (GCC's and clang's vector
// extensions.)
#pragma once

#include <cstring>

#include "virtual/semantics/base.h"

namespace instinct::INSTINCT_LEVEL {

#if defined(__AVX512F__)
inline constexpr int kWidth = 16;
#elif defined(__AVX2__)
inline constexpr int kWidth = 8;
#else
inline constexpr int kWidth = 4;
#endif

typedef float Floats __attribute__((vector_size(4 * kWidth)));
typedef i32 Ints __attribute__((vector_size(4 * kWidth)));
typedef u32 Words __attribute__((vector_size(4 * kWidth)));
// Half as many: one register of 64-bit elements.
typedef float HalfFloats __attribute__((vector_size(2 * kWidth)));
typedef i32 HalfInts __attribute__((vector_size(2 * kWidth)));
typedef double Doubles __attribute__((vector_size(4 * kWidth)));
typedef i64 Longs __attribute__((vector_size(4 * kWidth)));

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

// The half of a vector that starts at element kFirst.
template <class Half, class V>
inline Half half_of(V v, bool upper) {
  Half half;
  std::memcpy(&half, reinterpret_cast<const char*>(&v) + (upper ? sizeof half : 0), sizeof half);
  return half;
}
template <class V, class Half>
inline V joined(Half low, Half high) {
  V v;
  std::memcpy(&v, &low, sizeof low);
  std::memcpy(reinterpret_cast<char*>(&v) + sizeof low, &high, sizeof high);
  return v;
}

// 2^e for -1022 <= e <= 1023.
inline Doubles powers(HalfInts e) {
  const Longs wide = __builtin_convertvector(e, Longs);
  return reinterpret_cast<Doubles>((wide + 1023) << 52);
}
// The next integer below, for |x| < 2^51.
inline Doubles floors(Doubles x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  const Doubles nearest = (x + kRound) - kRound;
  const Doubles one = Doubles{} + 1.0;
  return nearest - (nearest > x ? one : Doubles{});
}

}  // namespace instinct::INSTINCT_LEVEL
