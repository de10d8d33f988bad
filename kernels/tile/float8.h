// The four 8-bit floating point formats as data. Freestanding.
// Sources: OCP "8-bit Floating Point Specification" (OFP8) for e4m3fn and e5m2; the CDNA3 ISA guide
// for the fnuz forms (bias one larger, no infinities, 0x80 is the only NaN).
#pragma once

#include "tile/element.h"
#include "wavefire/dtype.h"

WF_NAMESPACE_BEGIN(tile)

struct Float8Format {
  int mantissa_bits;
  int bias;
  bool fnuz;          // NaN is 0x80 and nothing else is special
  bool has_infinity;  // IEEE-like top exponent
};

constexpr Float8Format float8_format(DType dtype) {
  switch (dtype) {
    case DType::e5m2: return {2, 15, false, true};
    case DType::e4m3fnuz: return {3, 8, true, false};
    case DType::e5m2fnuz: return {2, 16, true, false};
    default: return {3, 7, false, false};
  }
}

constexpr float power_of_two(int exponent) {
  return __builtin_bit_cast(float, (exponent + 127) << 23);
}

/// Decodes bytes held in integers (`Int` of an element type), exactly. Integer arithmetic keeps it
/// independent of the denormal modes that frameworks set.
template <class Element, DType dtype>
WF_DEVICE Element decode_float8(typename ElementTraits<Element>::Int byte) {
  using T = ElementTraits<Element>;
  using Int = typename T::Int;
  constexpr Float8Format format = float8_format(dtype);
  constexpr int m = format.mantissa_bits;
  const Int magnitude = byte & 0x7f;
  const Int sign = (byte & 0x80) << 24;
  Int bits = (magnitude << (23 - m)) + ((127 - format.bias) << 23);
  const Element subnormal = to_float(magnitude) * T::splat(power_of_two(1 - format.bias - m));
  bits = select(less(magnitude, T::splat_int(1 << m)), to_bits(subnormal), bits);
  const Int nan = T::splat_int(0x7fc00000);
  if constexpr (format.fnuz) {
    return from_bits(select(equal(byte & 0xff, T::splat_int(0x80)), nan, bits | sign));
  } else if constexpr (format.has_infinity) {
    const Int special = (magnitude << (23 - m)) | 0x7f800000;
    const auto is_finite = less(magnitude, T::splat_int(0x1f << m));
    return from_bits(select(is_finite, bits, special) | sign);
  } else {
    return from_bits(select(equal(magnitude, T::splat_int(0x7f)), nan, bits) | sign);
  }
}

WF_NAMESPACE_END
