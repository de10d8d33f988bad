// The table of matrix instructions.
#include "virtual/semantics/matrix.h"

#include <array>

#include "virtual/semantics/matrix_multiply.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr u8 gfx942_bit = 1, gfx950_bit = 2, both_targets = 3;

template <Shape shape>
constexpr MatrixKernel kernel_of() {
  if constexpr (shape.a == Element::f64) {
    return &multiply_f64<shape>;
  } else if constexpr (shape.a == Element::f32) {
    return &multiply_f32<shape>;
  } else if constexpr (shape.a == Element::i8) {
    return &multiply_i8<shape>;
  } else if constexpr (shape.a == Element::f8f6f4) {
    return &multiply_scaled<shape>;
  } else {
    return &multiply_groups<shape>;
  }
}

template <Shape shape>
constexpr Matrix entry(std::string_view mnemonic, int passes, u8 targets) {
  constexpr bool in_f64 = shape.a == Element::f64;
  constexpr int row_count = shape.per_lane(shape.m) * bits_of_element(shape.b) / 32;
  return {.mnemonic = mnemonic,
          .m = shape.m,
          .n = shape.n,
          .k = shape.k,
          .blocks = shape.blocks,
          .a = shape.a,
          .b = shape.b,
          .sparse = shape.sparse,
          .a_rows = static_cast<u8>(shape.sparse ? row_count / 2 : row_count),
          .b_rows = static_cast<u8>(row_count),
          .cd_rows = static_cast<u8>(shape.m * shape.n * shape.blocks / 64 * (in_f64 ? 2 : 1)),
          .passes = static_cast<u8>(passes),
          .targets = targets,
          .run = kernel_of<shape>()};
}

constexpr Shape dense(int m, int k, int blocks, Element a, Element b, bool ocp = false) {
  return {.m = m, .n = m, .k = k, .blocks = blocks, .a = a, .b = b, .ocp = ocp};
}
constexpr Shape sparse(int m, int k, Element a, Element b, bool ocp = false) {
  return {.m = m, .n = m, .k = k, .blocks = 1, .a = a, .b = b, .ocp = ocp, .sparse = true};
}

using enum Element;

// Passes: LLVM, VOP3PInstructions.td and SISchedule.td (SIDPGFX942FullSpeedModel,
// SIDPGFX950FullSpeedModel). f8f6f4 with two operands of at most six bits takes half as many.
constexpr std::array matrix_table = {
    entry<dense(16, 4, 1, f64, f64)>("v_mfma_f64_16x16x4_f64", 8, both_targets),
    entry<dense(4, 4, 4, f64, f64)>("v_mfma_f64_4x4x4_4b_f64", 4, both_targets),
    entry<dense(32, 1, 2, f32, f32)>("v_mfma_f32_32x32x1_2b_f32", 16, both_targets),
    entry<dense(16, 1, 4, f32, f32)>("v_mfma_f32_16x16x1_4b_f32", 8, both_targets),
    entry<dense(4, 1, 16, f32, f32)>("v_mfma_f32_4x4x1_16b_f32", 2, both_targets),
    entry<dense(32, 2, 1, f32, f32)>("v_mfma_f32_32x32x2_f32", 16, both_targets),
    entry<dense(16, 4, 1, f32, f32)>("v_mfma_f32_16x16x4_f32", 8, both_targets),
    entry<dense(16, 8, 1, xf32, xf32)>("v_mfma_f32_16x16x8_xf32", 4, gfx942_bit),
    entry<dense(32, 4, 1, xf32, xf32)>("v_mfma_f32_32x32x4_xf32", 8, gfx942_bit),
    entry<dense(32, 4, 2, f16, f16)>("v_mfma_f32_32x32x4_2b_f16", 16, both_targets),
    entry<dense(16, 4, 4, f16, f16)>("v_mfma_f32_16x16x4_4b_f16", 8, both_targets),
    entry<dense(4, 4, 16, f16, f16)>("v_mfma_f32_4x4x4_16b_f16", 2, both_targets),
    entry<dense(32, 8, 1, f16, f16)>("v_mfma_f32_32x32x8_f16", 8, both_targets),
    entry<dense(16, 16, 1, f16, f16)>("v_mfma_f32_16x16x16_f16", 4, both_targets),
    entry<dense(32, 16, 1, f16, f16)>("v_mfma_f32_32x32x16_f16", 8, gfx950_bit),
    entry<dense(16, 32, 1, f16, f16)>("v_mfma_f32_16x16x32_f16", 4, gfx950_bit),
    entry<dense(32, 4, 2, bf16, bf16)>("v_mfma_f32_32x32x4_2b_bf16", 16, both_targets),
    entry<dense(16, 4, 4, bf16, bf16)>("v_mfma_f32_16x16x4_4b_bf16", 8, both_targets),
    entry<dense(4, 4, 16, bf16, bf16)>("v_mfma_f32_4x4x4_16b_bf16", 2, both_targets),
    entry<dense(32, 8, 1, bf16, bf16)>("v_mfma_f32_32x32x8_bf16", 8, both_targets),
    entry<dense(16, 16, 1, bf16, bf16)>("v_mfma_f32_16x16x16_bf16", 4, both_targets),
    entry<dense(32, 16, 1, bf16, bf16)>("v_mfma_f32_32x32x16_bf16", 8, gfx950_bit),
    entry<dense(16, 32, 1, bf16, bf16)>("v_mfma_f32_16x16x32_bf16", 4, gfx950_bit),
    entry<dense(32, 4, 2, i8, i8)>("v_mfma_i32_32x32x4_2b_i8", 16, both_targets),
    entry<dense(16, 4, 4, i8, i8)>("v_mfma_i32_16x16x4_4b_i8", 8, both_targets),
    entry<dense(4, 4, 16, i8, i8)>("v_mfma_i32_4x4x4_16b_i8", 2, both_targets),
    entry<dense(32, 16, 1, i8, i8)>("v_mfma_i32_32x32x16_i8", 8, both_targets),
    entry<dense(16, 32, 1, i8, i8)>("v_mfma_i32_16x16x32_i8", 4, both_targets),
    entry<dense(32, 32, 1, i8, i8)>("v_mfma_i32_32x32x32_i8", 8, gfx950_bit),
    entry<dense(16, 64, 1, i8, i8)>("v_mfma_i32_16x16x64_i8", 4, gfx950_bit),
    entry<dense(16, 32, 1, fp8, fp8)>("v_mfma_f32_16x16x32_fp8_fp8", 4, gfx942_bit),
    entry<dense(16, 32, 1, fp8, bf8)>("v_mfma_f32_16x16x32_fp8_bf8", 4, gfx942_bit),
    entry<dense(16, 32, 1, bf8, fp8)>("v_mfma_f32_16x16x32_bf8_fp8", 4, gfx942_bit),
    entry<dense(16, 32, 1, bf8, bf8)>("v_mfma_f32_16x16x32_bf8_bf8", 4, gfx942_bit),
    entry<dense(32, 16, 1, fp8, fp8)>("v_mfma_f32_32x32x16_fp8_fp8", 8, gfx942_bit),
    entry<dense(32, 16, 1, fp8, bf8)>("v_mfma_f32_32x32x16_fp8_bf8", 8, gfx942_bit),
    entry<dense(32, 16, 1, bf8, fp8)>("v_mfma_f32_32x32x16_bf8_fp8", 8, gfx942_bit),
    entry<dense(32, 16, 1, bf8, bf8)>("v_mfma_f32_32x32x16_bf8_bf8", 8, gfx942_bit),
    entry<dense(16, 32, 1, fp8, fp8, true)>("v_mfma_f32_16x16x32_fp8_fp8", 4, gfx950_bit),
    entry<dense(16, 32, 1, fp8, bf8, true)>("v_mfma_f32_16x16x32_fp8_bf8", 4, gfx950_bit),
    entry<dense(16, 32, 1, bf8, fp8, true)>("v_mfma_f32_16x16x32_bf8_fp8", 4, gfx950_bit),
    entry<dense(16, 32, 1, bf8, bf8, true)>("v_mfma_f32_16x16x32_bf8_bf8", 4, gfx950_bit),
    entry<dense(32, 16, 1, fp8, fp8, true)>("v_mfma_f32_32x32x16_fp8_fp8", 8, gfx950_bit),
    entry<dense(32, 16, 1, fp8, bf8, true)>("v_mfma_f32_32x32x16_fp8_bf8", 8, gfx950_bit),
    entry<dense(32, 16, 1, bf8, fp8, true)>("v_mfma_f32_32x32x16_bf8_fp8", 8, gfx950_bit),
    entry<dense(32, 16, 1, bf8, bf8, true)>("v_mfma_f32_32x32x16_bf8_bf8", 8, gfx950_bit),
    entry<dense(16, 128, 1, f8f6f4, f8f6f4, true)>("v_mfma_f32_16x16x128_f8f6f4", 8, gfx950_bit),
    entry<dense(32, 64, 1, f8f6f4, f8f6f4, true)>("v_mfma_f32_32x32x64_f8f6f4", 16, gfx950_bit),
    entry<dense(16, 128, 1, f8f6f4, f8f6f4, true)>("v_mfma_scale_f32_16x16x128_f8f6f4", 8,
                                                   gfx950_bit),
    entry<dense(32, 64, 1, f8f6f4, f8f6f4, true)>("v_mfma_scale_f32_32x32x64_f8f6f4", 16,
                                                  gfx950_bit),
    entry<sparse(16, 32, f16, f16)>("v_smfmac_f32_16x16x32_f16", 4, both_targets),
    entry<sparse(32, 16, f16, f16)>("v_smfmac_f32_32x32x16_f16", 8, both_targets),
    entry<sparse(16, 32, bf16, bf16)>("v_smfmac_f32_16x16x32_bf16", 4, both_targets),
    entry<sparse(32, 16, bf16, bf16)>("v_smfmac_f32_32x32x16_bf16", 8, both_targets),
    entry<sparse(16, 64, i8, i8)>("v_smfmac_i32_16x16x64_i8", 4, both_targets),
    entry<sparse(32, 32, i8, i8)>("v_smfmac_i32_32x32x32_i8", 8, both_targets),
    entry<sparse(16, 64, fp8, fp8)>("v_smfmac_f32_16x16x64_fp8_fp8", 4, gfx942_bit),
    entry<sparse(16, 64, fp8, bf8)>("v_smfmac_f32_16x16x64_fp8_bf8", 4, gfx942_bit),
    entry<sparse(16, 64, bf8, fp8)>("v_smfmac_f32_16x16x64_bf8_fp8", 4, gfx942_bit),
    entry<sparse(16, 64, bf8, bf8)>("v_smfmac_f32_16x16x64_bf8_bf8", 4, gfx942_bit),
    entry<sparse(32, 32, fp8, fp8)>("v_smfmac_f32_32x32x32_fp8_fp8", 8, gfx942_bit),
    entry<sparse(32, 32, fp8, bf8)>("v_smfmac_f32_32x32x32_fp8_bf8", 8, gfx942_bit),
    entry<sparse(32, 32, bf8, fp8)>("v_smfmac_f32_32x32x32_bf8_fp8", 8, gfx942_bit),
    entry<sparse(32, 32, bf8, bf8)>("v_smfmac_f32_32x32x32_bf8_bf8", 8, gfx942_bit),
    entry<sparse(16, 64, fp8, fp8, true)>("v_smfmac_f32_16x16x64_fp8_fp8", 4, gfx950_bit),
    entry<sparse(16, 64, fp8, bf8, true)>("v_smfmac_f32_16x16x64_fp8_bf8", 4, gfx950_bit),
    entry<sparse(16, 64, bf8, fp8, true)>("v_smfmac_f32_16x16x64_bf8_fp8", 4, gfx950_bit),
    entry<sparse(16, 64, bf8, bf8, true)>("v_smfmac_f32_16x16x64_bf8_bf8", 4, gfx950_bit),
    entry<sparse(32, 32, fp8, fp8, true)>("v_smfmac_f32_32x32x32_fp8_fp8", 8, gfx950_bit),
    entry<sparse(32, 32, fp8, bf8, true)>("v_smfmac_f32_32x32x32_fp8_bf8", 8, gfx950_bit),
    entry<sparse(32, 32, bf8, fp8, true)>("v_smfmac_f32_32x32x32_bf8_fp8", 8, gfx950_bit),
    entry<sparse(32, 32, bf8, bf8, true)>("v_smfmac_f32_32x32x32_bf8_bf8", 8, gfx950_bit),
    entry<sparse(16, 64, f16, f16)>("v_smfmac_f32_16x16x64_f16", 4, gfx950_bit),
    entry<sparse(32, 32, f16, f16)>("v_smfmac_f32_32x32x32_f16", 8, gfx950_bit),
    entry<sparse(16, 64, bf16, bf16)>("v_smfmac_f32_16x16x64_bf16", 4, gfx950_bit),
    entry<sparse(32, 32, bf16, bf16)>("v_smfmac_f32_32x32x32_bf16", 8, gfx950_bit),
    entry<sparse(16, 128, i8, i8)>("v_smfmac_i32_16x16x128_i8", 4, gfx950_bit),
    entry<sparse(32, 64, i8, i8)>("v_smfmac_i32_32x32x64_i8", 8, gfx950_bit),
    entry<sparse(16, 128, fp8, fp8, true)>("v_smfmac_f32_16x16x128_fp8_fp8", 4, gfx950_bit),
    entry<sparse(16, 128, fp8, bf8, true)>("v_smfmac_f32_16x16x128_fp8_bf8", 4, gfx950_bit),
    entry<sparse(16, 128, bf8, fp8, true)>("v_smfmac_f32_16x16x128_bf8_fp8", 4, gfx950_bit),
    entry<sparse(16, 128, bf8, bf8, true)>("v_smfmac_f32_16x16x128_bf8_bf8", 4, gfx950_bit),
    entry<sparse(32, 64, fp8, fp8, true)>("v_smfmac_f32_32x32x64_fp8_fp8", 8, gfx950_bit),
    entry<sparse(32, 64, fp8, bf8, true)>("v_smfmac_f32_32x32x64_fp8_bf8", 8, gfx950_bit),
    entry<sparse(32, 64, bf8, fp8, true)>("v_smfmac_f32_32x32x64_bf8_fp8", 8, gfx950_bit),
    entry<sparse(32, 64, bf8, bf8, true)>("v_smfmac_f32_32x32x64_bf8_bf8", 8, gfx950_bit),
};

}  // namespace

std::span<const Matrix> matrices() { return matrix_table; }

const Matrix* find_matrix(std::string_view mnemonic, Target target) {
  const u8 bit = target == Target::gfx942 ? gfx942_bit : gfx950_bit;
  for (const Matrix& matrix : matrix_table) {
    if (matrix.mnemonic == mnemonic && (matrix.targets & bit) != 0) return &matrix;
  }
  return nullptr;
}

}  // namespace instinct::INSTINCT_LEVEL
