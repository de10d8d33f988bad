// Matrix instructions of gfx950, besides what all of CDNA has.
#pragma once

#include "tile/cdna/isa.h"

WF_NAMESPACE_BEGIN(tile)

namespace isa {

inline constexpr int mfma_columns = 16;  // that one instruction sums over

/// c + a b, 32 x 32 x 16. In which order a lane's eight columns stand does not matter, since a and
/// b have the same: four from 4 (l / 32) on of the first eight and of the second.
template <DType dtype>
WF_DEVICE Float16 mfma_32x32(const Short4* a, const Short4* b, Float16 c) {
  const Short8 a8 = __builtin_shufflevector(a[0], a[1], 0, 1, 2, 3, 4, 5, 6, 7);
  const Short8 b8 = __builtin_shufflevector(b[0], b[1], 0, 1, 2, 3, 4, 5, 6, 7);
  if constexpr (dtype == DType::bf16) {
    return __builtin_amdgcn_mfma_f32_32x32x16_bf16(__builtin_bit_cast(Bfloat8, a8),
                                                   __builtin_bit_cast(Bfloat8, b8), c, 0, 0, 0);
  } else {
    return __builtin_amdgcn_mfma_f32_32x32x16_f16(__builtin_bit_cast(Half8, a8),
                                                  __builtin_bit_cast(Half8, b8), c, 0, 0, 0);
  }
}

/// The value of lane `lane ^ 32`.
WF_DEVICE float other_half(float a) {
  const u32 bits = __builtin_bit_cast(u32, a);
  const auto swapped = __builtin_amdgcn_permlane32_swap(bits, bits, false, false);
  // {lower half twice, upper half twice}
  const u32 low = swapped[0], high = swapped[1];
  return __builtin_bit_cast(float, (thread() & 32) != 0 ? low : high);
}

/// Two weights of a softmax as 16-bit floats.
template <DType dtype>
WF_DEVICE u32 pack_weights(float low, float high) {
  return pack<dtype>(low, high);
}

}  // namespace isa

WF_NAMESPACE_END
