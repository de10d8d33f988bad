// What the semantics share. Everything in this folder is a pure function of plain values, compiled
// once per level of the CPU: inline functions live in the level's namespace, so that no two levels
// share a symbol. Only instructions that fuse use std::fma; compile with -ffp-contract=off.
#pragma once

#include <bit>
#include <cmath>

#include "virtual/types.h"

#ifndef INSTINCT_LEVEL
#define INSTINCT_LEVEL base
#endif

namespace instinct::INSTINCT_LEVEL {

// MODE.FP_ROUND: bits [1:0] of MODE for f32, [3:2] for f16 and f64 ("CDNA3 ISA", "Mode register").
enum class Round : u8 { nearest = 0, up = 1, down = 2, zero = 3 };

constexpr Round round_f32(u32 mode) { return static_cast<Round>(mode & 3); }
constexpr Round round_f16(u32 mode) { return static_cast<Round>(mode >> 2 & 3); }
// FP16_OVFL: an f16 or fp8 result that overflows is the largest finite number.
constexpr bool saturates(u32 mode) { return (mode >> 23 & 1) != 0; }

inline u32 bits_of(float value) { return std::bit_cast<u32>(value); }
inline u64 bits_of(double value) { return std::bit_cast<u64>(value); }
inline float float_of(u32 bits) { return std::bit_cast<float>(bits); }
inline double double_of(u64 bits) { return std::bit_cast<double>(bits); }

inline bool is_nan(float value) { return (bits_of(value) & 0x7fffffffu) > 0x7f800000u; }
inline bool is_nan(double value) {
  return (bits_of(value) & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}
inline bool is_nan_f16(u16 bits) { return (bits & 0x7fff) > 0x7c00; }

// yes or no, by masks: nothing that a compiler could make a branch of, which would keep a loop over
// lanes from vectorising. (For functions of few choices ?: is as good.)
template <class T>
inline T pick(bool condition, T yes, T no) {
  const T mask = static_cast<T>(T{0} - static_cast<T>(condition));
  return static_cast<T>(no ^ ((yes ^ no) & mask));
}

inline u16 low_half(u32 word) { return static_cast<u16>(word); }
inline u16 high_half(u32 word) { return static_cast<u16>(word >> 16); }
inline u32 pack_halves(u16 low, u16 high) { return low | u32{high} << 16; }

// Subnormals become zeros of their sign: MODE.FP_DENORM, and what the transcendentals do always.
inline float flush(float value) {
  const u32 bits = bits_of(value);
  return float_of((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
inline u16 flush_f16(u16 bits) {
  return (bits & 0x7c00) == 0 ? static_cast<u16>(bits & 0x8000) : bits;
}
inline double flush(double value) {
  const u64 bits = bits_of(value);
  return double_of((bits & 0x7ff0000000000000u) == 0 ? bits & 0x8000000000000000u : bits);
}

}  // namespace instinct::INSTINCT_LEVEL
