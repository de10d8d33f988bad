// Matrix instructions (MFMA, scaled MFMA, SMFMAC) over rows of lanes.
//
// Register layouts: "CDNA3 ISA", "Matrix arithmetic instructions", as AMD's matrix instruction
// calculator prints them; those of the f8f6f4 kind: AMD's article "Matrix Core Programming on CDNA3
// and CDNA4" (2025). EXEC does not matter to them. What is summed how: matrix_sum.h.
#pragma once

#include <span>
#include <string_view>

#include "virtual/semantics/base.h"

namespace instinct::INSTINCT_LEVEL {

enum class Element : u8 { f64, f32, xf32, f16, bf16, fp8, bf8, i8, f8f6f4 };

// Rows are 64 words; a pointer names the first of consecutive rows.
struct MatrixOperands {
  u32* d = nullptr;        // cd_rows rows; may be those of c, a or b
  const u32* a = nullptr;  // a_rows rows
  const u32* b = nullptr;
  const u32* c = nullptr;  // nullptr: every element is c_constant
  u64 c_constant = 0;      // an inline constant in the accumulator's format
  u8 cbsz = 0;             // broadcast of A's blocks; f8f6f4: A's format 0..4; smfmac: see abid
  u8 abid = 0;             // which block is broadcast; smfmac: which set of indices if cbsz is 0
  u8 blgp = 0;             // lane pattern of B; f64: bits negate a, b, c; f8f6f4: B's format
  const u32* scale_a = nullptr;  // f8f6f4: a row of e8m0 bytes; nullptr: 2^0
  const u32* scale_b = nullptr;
  u8 scale_byte_a = 0;  // which byte of the word: op_sel's bit + 2 * op_sel_hi's
  u8 scale_byte_b = 0;
  const u32* index = nullptr;  // smfmac: two bits for each kept element
};

// Formats that cbsz and blgp of f8f6f4 name, and their registers.
enum class Narrow : u8 { fp8, bf8, fp6, bf6, fp4 };
constexpr int rows_of(Narrow format) {
  return format <= Narrow::bf8 ? 8 : format <= Narrow::bf6 ? 6 : 4;
}

using MatrixKernel = void (*)(const MatrixOperands& operands);

// One instruction: for each block, D (m x n) = A (m x k) B (k x n) + C.
struct Matrix {
  std::string_view mnemonic;  // as LLVM prints it
  u16 m, n, k, blocks;
  Element a, b;
  bool sparse;                 // smfmac: A keeps two of four; c is d
  u8 a_rows, b_rows, cd_rows;  // registers; f8f6f4: of 8-bit formats
  u8 passes;                   // of four cycles each
  u8 targets;                  // bit 0 gfx942, bit 1 gfx950
  MatrixKernel run;

  u64 flops() const { return u64{2} * m * n * k * blocks; }
};

// All of them. fp8 instructions occur twice, once per target: their formats differ.
std::span<const Matrix> matrices();
// nullptr if that target has none of this name.
const Matrix* find_matrix(std::string_view mnemonic, Target target);

}  // namespace instinct::INSTINCT_LEVEL
