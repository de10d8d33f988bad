// Matrix instructions of gfx942, besides what all of CDNA has.
#pragma once

#include "tile/cdna/isa.h"

WF_NAMESPACE_BEGIN(tile)

namespace isa {

inline constexpr int mfma_columns = 8;  // that one instruction sums over

/// c + a b, 32 x 32 x 8; lane l holds four columns from 4 (l / 32) on.
template <DType dtype>
WF_DEVICE Float16 mfma_32x32(const Short4* a, const Short4* b, Float16 c) {
  if constexpr (dtype == DType::bf16) {
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a[0], b[0], c, 0, 0, 0);
  } else {
    return __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(Half4, a[0]),
                                                __builtin_bit_cast(Half4, b[0]), c, 0, 0, 0);
  }
}

/// The value of lane `lane ^ 32`.
WF_DEVICE float other_half(float a) { return shuffle(a, (thread() & 63) ^ 32); }

/// Two weights of a softmax as 16-bit floats, rounded to nearest even in fewer instructions than
/// other values need: some NaN become zero, in a row whose sum is NaN and so its output.
template <DType dtype>
WF_DEVICE u32 pack_weights(float low, float high) {
  if constexpr (dtype == DType::bf16) {
    const auto round = [](float a) {
      const u32 bits = __builtin_bit_cast(u32, a);
      return bits + (bits >> 16 & 1) + 0x7fffu;
    };
    constexpr u32 upper_halves = 0x07060302;
    return __builtin_amdgcn_perm(round(high), round(low), upper_halves);
  } else {
    return pack<dtype>(low, high);
  }
}

}  // namespace isa

WF_NAMESPACE_END
