// v_trig_preop_f64.
#include "virtual/semantics/divide.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

// 2 / pi, 1216 bits after the point, the highest first.
constexpr u64 two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};
constexpr u32 element_bits = 64 * sizeof two_over_pi / sizeof two_over_pi[0];

u64 bit_of_two_over_pi(u32 i) {
  return i < element_bits ? two_over_pi[i / 64] >> (63 - i % 64) & 1 : 0;
}

}  // namespace

double v_trig_preop_f64(double x, u32 segment) {
  const int exponent = exponent_field(x);
  const u32 first = (segment & 31) * 53 + static_cast<u32>(exponent > 1077 ? exponent - 1077 : 0);
  u64 digit = 0;
  for (u32 i = 0; i < 53; ++i) digit = digit << 1 | bit_of_two_over_pi(first + i);
  // The caller scales such an argument by 2^-128.
  const int scale = exponent >= 1968 ? 128 : 0;
  return std::ldexp(static_cast<double>(digit), -53 - static_cast<int>(first) + scale);
}

}  // namespace instinct::INSTINCT_LEVEL
