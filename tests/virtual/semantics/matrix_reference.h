// Operands of matrix instructions for tests: matrices of codes, put into registers by layouts that
// are written here from AMD's tables, instruction by instruction, and products in f64.
#pragma once

#include <functional>
#include <vector>

#include "reference.h"
#include "virtual/semantics/fp8.h"
#include "virtual/semantics/matrix.h"

namespace instinct::INSTINCT_LEVEL {

// A matrix of element codes per block; A as rows by k, B as columns by k.
struct Codes {
  int blocks, side, k;
  std::vector<u64> code;
  Codes(int b, int s, int depth)
      : blocks(b), side(s), k(depth), code(static_cast<size_t>(b) * s * depth) {}
  u64& at(int block, int i, int x) { return code[(static_cast<size_t>(block) * side + i) * k + x]; }
  u64 at(int block, int i, int x) const {
    return code[(static_cast<size_t>(block) * side + i) * k + x];
  }
};

inline int element_bits(Element e) {
  switch (e) {
    case Element::f64: return 64;
    case Element::f32:
    case Element::xf32: return 32;
    case Element::f16:
    case Element::bf16: return 16;
    default: return 8;
  }
}

// "CDNA3 ISA", 7.1: the lanes are shared out among rows, then blocks, then pieces of k; a lane
// holds consecutive k, the first lowest.
inline void put_operand(std::vector<u32>& rows, const Codes& codes, int bits) {
  const int pieces = 64 / (codes.side * codes.blocks), per = codes.k / pieces;
  rows.assign(static_cast<size_t>(64) * std::max(1, per * bits / 32), 0);
  for (int block = 0; block < codes.blocks; ++block) {
    for (int i = 0; i < codes.side; ++i) {
      for (int k = 0; k < codes.k; ++k) {
        const int lane = i + codes.side * block + codes.side * codes.blocks * (k / per);
        const int bit = (k % per) * bits;
        const u64 code = codes.at(block, i, k);
        rows[64 * (bit / 32) + lane] |= static_cast<u32>(code << (bit % 32));
        if (bits == 64) rows[64 * (bit / 32 + 1) + lane] = static_cast<u32>(code >> 32);
      }
    }
  }
}

struct ResultPlace {
  int row, lane;
};
// The accumulator's layout ("CDNA3 ISA", 7.1; AMD's calculator, "Matrix D").
inline ResultPlace result_place(const Matrix& m, int block, int i, int j) {
  if (m.a == Element::f64) {
    return m.m == 16 ? ResultPlace{2 * (i / 4), 16 * (i % 4) + j}
                     : ResultPlace{0, 16 * i + 4 * block + j};
  }
  switch (m.m) {
    case 32: return {16 * block + 4 * (i / 8) + i % 4, 32 * (i / 4 % 2) + j};
    case 16: return {4 * block + i % 4, 16 * (i / 4) + j};
    default: return {i, 4 * block + j};
  }
}

template <Format tested_format>
double reference_value(u64 code) {
  static const ReferenceFormat format(tested_format);
  return format.value(static_cast<u32>(code));
}
inline double value_of(Element e, u64 code, bool ocp) {
  switch (e) {
    case Element::f64: return double_of(code);
    case Element::f32: return float_of(static_cast<u32>(code));
    case Element::xf32: return float_of(static_cast<u32>(code) & ~0x1fffu);
    case Element::f16: return reference_value<f16_format>(code);
    case Element::bf16: return float_of(static_cast<u32>(code) << 16);
    case Element::fp8:
      return ocp ? reference_value<e4m3_format>(code) : reference_value<e4m3_fnuz_format>(code);
    case Element::bf8:
      return ocp ? reference_value<e5m2_format>(code) : reference_value<e5m2_fnuz_format>(code);
    case Element::i8: return static_cast<i8>(code);
    case Element::f8f6f4: break;
  }
  return 0;
}
// The code of a small integer, exact in every format.
inline u64 code_of(Element e, int x, bool ocp) {
  const float f = static_cast<float>(x);
  switch (e) {
    case Element::f64: return bits_of(static_cast<double>(x));
    case Element::f32:
    case Element::xf32: return bits_of(f);
    case Element::f16: return narrow<f16_format>(f);
    case Element::bf16: return narrow<bf16_format>(f);
    case Element::fp8: return ocp ? narrow<e4m3_format>(f) : narrow<e4m3_fnuz_format>(f);
    case Element::bf8: return ocp ? narrow<e5m2_format>(f) : narrow<e5m2_fnuz_format>(f);
    case Element::i8: return static_cast<u8>(x);
    case Element::f8f6f4: break;
  }
  return 0;
}

inline bool is_ocp(const Matrix& m) { return m.targets == 2; }

inline double read_result(const Matrix& m, const std::vector<u32>& rows, int block, int i, int j) {
  const ResultPlace at = result_place(m, block, i, j);
  const u32 word = rows[64 * at.row + at.lane];
  if (m.a == Element::f64) return double_of(word | u64{rows[64 * (at.row + 1) + at.lane]} << 32);
  if (m.a == Element::i8) return static_cast<i32>(word);
  return float_of(word);
}
inline void write_result(const Matrix& m, std::vector<u32>& rows, int block, int i, int j,
                         double x) {
  const ResultPlace at = result_place(m, block, i, j);
  u32& word = rows[64 * at.row + at.lane];
  if (m.a == Element::f64) {
    word = static_cast<u32>(bits_of(x));
    rows[64 * (at.row + 1) + at.lane] = static_cast<u32>(bits_of(x) >> 32);
  } else {
    word =
        m.a == Element::i8 ? static_cast<u32>(static_cast<i32>(x)) : bits_of(static_cast<float>(x));
  }
}

// One instruction's registers; A and B by codes, C by values.
struct Case {
  const Matrix& matrix;
  Codes a, b;
  std::vector<u32> rows_a, rows_b, rows_c, rows_d;

  explicit Case(const Matrix& m)
      : matrix(m), a(m.blocks, m.m, m.k), b(m.blocks, m.n, m.k), rows_c(64 * m.cd_rows) {}

  void fill(const std::function<u64()>& of_a, const std::function<u64()>& of_b,
            const std::function<double()>& of_c) {
    for (u64& code : a.code) code = of_a();
    for (u64& code : b.code) code = of_b();
    for (int block = 0; block < matrix.blocks; ++block) {
      for (int i = 0; i < matrix.m; ++i) {
        for (int j = 0; j < matrix.n; ++j) write_result(matrix, rows_c, block, i, j, of_c());
      }
    }
    put_operand(rows_a, a, element_bits(matrix.a));
    put_operand(rows_b, b, element_bits(matrix.b));
  }
  MatrixOperands operands() {
    rows_d.assign(rows_c.size(), 0xdeadbeef);
    MatrixOperands o;
    o.a = rows_a.data();
    o.b = rows_b.data();
    o.c = rows_c.data();
    o.d = rows_d.data();
    return o;
  }
  double value_a(int block, int i, int k) const {
    return value_of(matrix.a, a.at(block, i, k), is_ocp(matrix));
  }
  double value_b(int block, int j, int k) const {
    return value_of(matrix.b, b.at(block, j, k), is_ocp(matrix));
  }
  double c(int block, int i, int j) const { return read_result(matrix, rows_c, block, i, j); }
  double d(int block, int i, int j) const { return read_result(matrix, rows_d, block, i, j); }
  template <class F>
  void for_each(F f) const {
    for (int block = 0; block < matrix.blocks; ++block) {
      for (int i = 0; i < matrix.m; ++i) {
        for (int j = 0; j < matrix.n; ++j) f(block, i, j);
      }
    }
  }
};

}  // namespace instinct::INSTINCT_LEVEL
