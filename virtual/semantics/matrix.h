// Matrix instructions (MFMA, scaled MFMA, SMFMAC) over lane rows.
//
// Register layouts: AMD, CDNA3 ISA guide, "Matrix Arithmetic Instructions"; AMD's matrix
// instruction calculator gives the same maps. EXEC does not matter to them.
#pragma once

#include <span>
#include <string_view>

#include "types.h"

namespace instinct::semantics {

/// Element formats of A and B.
enum class Element : u8 { f64, f32, xf32, f16, bf16, fp8, bf8, fp6, bf6, fp4, i8 };

struct MatrixOperands {
  const Row* a = nullptr;  // a_rows rows
  const Row* b = nullptr;
  const Row* c = nullptr;  // cd_rows rows; nullptr: every element is c_constant
  Row* d = nullptr;        // may be the same rows as c, or overlap a and b
  u32 c_constant = 0;      // an inline constant's bits (for f64: see c_constant64)
  u64 c_constant64 = 0;
  u8 cbsz = 0;                   // broadcast of A's blocks; scaled: A's format, 0..4
  u8 abid = 0;                   // which block is broadcast; smfmac: index set
  u8 blgp = 0;                   // B's lane pattern; f64: neg of a, b, c; scaled: B's format
  const Row* scale_a = nullptr;  // scaled: a word of e8m0 bytes per lane; nullptr: constant below
  const Row* scale_b = nullptr;
  u32 scale_constant_a = 0x7f7f7f7f;  // 2^0 in every byte
  u32 scale_constant_b = 0x7f7f7f7f;
  u8 scale_byte_a = 0;  // op_sel: which byte of the word (bit 0 from op_sel, bit 1 from op_sel_hi)
  u8 scale_byte_b = 0;
  const Row* index = nullptr;  // smfmac: two bits per kept element
  bool ocp_fp8 = false;        // gfx950: fp8 is e4m3fn, bf8 is e5m2; gfx942: the FNUZ kinds
};

struct Matrix;
using RunMatrix = void (*)(const Matrix& matrix, const MatrixOperands& operands);

struct Matrix {
  std::string_view mnemonic;  // as LLVM prints it: v_mfma_f32_32x32x8_bf16
  u16 m, n, k, blocks;        // of one instruction: D[block] (m x n) = A (m x k) B (k x n) + C
  Element a, b;
  u8 a_rows, b_rows, cd_rows;  // registers of 32 bits per lane
  bool sparse;                 // smfmac: A keeps 2 of 4; its a_rows are those of the kept ones
  bool scaled;
  u8 passes;  // of four cycles each, gfx942 or the first target that has it (LLVM SISchedule.td)
  RunMatrix run;

  u64 flops() const { return 2ull * m * n * k * blocks; }
};

/// The matrix instruction of this name (also the older spellings, v_mfma_f32_32x32x8bf16_1k);
/// nullptr if there is none.
const Matrix* find_matrix(std::string_view mnemonic);
std::span<const Matrix> matrices();

/// Rows that A (B) takes under the format that cbsz (blgp) of a scaled MFMA names: 8, 6 or 4.
int scaled_rows(u8 format);

inline void multiply(const Matrix& matrix, const MatrixOperands& operands) {
  matrix.run(matrix, operands);
}

/// Where an element lives: lane and register (for 16- and 8-bit elements: and position in it).
struct Place {
  int lane, row, position;
};
/// D[block][i][j] of `matrix`, and A[block][i][k] (B[block][k][j] is alike with j for i).
Place place_of_result(const Matrix& matrix, int block, int i, int j);
Place place_of_source(const Matrix& matrix, int block, int i, int k);

}  // namespace instinct::semantics
