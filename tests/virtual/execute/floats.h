// Numbers and their bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "virtual/types.h"

namespace instinct {

inline float f32(u32 bits) { return std::bit_cast<float>(bits); }
inline u32 bits(float x) { return std::bit_cast<u32>(x); }
inline u64 bits(double x) { return std::bit_cast<u64>(x); }

// Exact for every f16; the floats that tests turn into one are exact in it.
inline float of_half(u32 half) {
  const u32 magnitude = half & 0x7fff;
  const float size = magnitude < 0x400
                         ? std::ldexp(float(magnitude), -24)
                         : std::ldexp(float(magnitude % 1024 + 1024), int(magnitude / 1024) - 25);
  return half & 0x8000 ? -size : size;
}
inline u32 to_half(float x) {
  const float size = std::fabs(x);
  const u32 sign = std::signbit(x) ? 0x8000 : 0;
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), -14);
  const u32 units = u32(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return sign | (u32(exponent + 14) * 1024 + units);
}

}  // namespace instinct
