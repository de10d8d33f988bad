// Matrix instructions on a wave: registers, constants and modifiers reach the function of their
// mnemonic. What that computes is tested in semantics/matrix_test.cpp.
#include "machine.h"
#include "virtual/semantics/matrix.h"

namespace instinct {
namespace {

using base::Element;
using base::Matrix;
using base::MatrixOperands;
using base::Narrow;

constexpr u32 d_at = 0, a_at = 40, b_at = 60, c_at = 80, scale_at = 120;
enum class Accumulator { vectors, accumulators, constant };

std::string registers(char kind, u32 first, u32 count) {
  if (count == 1) return kind + std::to_string(first);
  return std::string(1, kind) + "[" + std::to_string(first) + ":" +
         std::to_string(first + count - 1) + "]";
}

// A case: the instruction in text, and the same as operands of its function.
struct Case {
  const Matrix& matrix;
  Machine m;
  MatrixOperands operands = {};
  std::string text = {};
  std::vector<Row> result = std::vector<Row>(32);

  Case(const Matrix& of, Target target) : matrix(of), m(target) {
    for (u32 r = 0; r < 128; ++r) {
      for (u32 lane = 0; lane < 64; ++lane) {
        m.v(r)[lane] = small_numbers(lane, r);
        m.a(r)[lane] = small_numbers(lane, r + 128);
      }
    }
    operands.d = result[0].lane;
    operands.a = m.v(a_at);
    operands.b = m.v(b_at);
  }

  // Words that are finite numbers in each format, but for f32 and f64 none that is far from 1.
  u32 small_numbers(u32 lane, u32 row) const {
    const u32 word = sample(4 * lane + 1, row) & 0x8f8f8f8f;
    const bool wide = matrix.a == Element::f32 || matrix.a == Element::f64;
    return wide ? 0x3f800000 | (word & 0x800fffff) : word & 0xb3b3b3b3;
  }

  void set_accumulator(Accumulator where) {
    const u32 rows = matrix.cd_rows;
    const char kind = where == Accumulator::accumulators ? 'a' : 'v';
    const auto row_of = [&](u32 r) { return kind == 'a' ? m.a(r) : m.v(r); };
    const bool in_place = matrix.sparse;
    text = std::string(matrix.mnemonic) + " " + registers(kind, d_at, rows) + ", " +
           registers('v', a_at, factor_rows(matrix.a_rows, operands.cbsz)) + ", " +
           registers('v', b_at, factor_rows(matrix.b_rows, operands.blgp)) + ", ";
    if (in_place) {
      std::memcpy(result[0].lane, row_of(d_at), rows * sizeof(Row));
      operands.c = operands.d;
      operands.index = m.v(c_at);
      text += registers('v', c_at, 1);
    } else if (where == Accumulator::constant) {
      const bool is_integer = matrix.a == Element::i8, is_double = matrix.a == Element::f64;
      operands.c = nullptr;
      operands.c_constant = is_integer ? 5 : is_double ? 0x3ff0000000000000 : 0x3f800000;
      text += is_integer ? "5" : "1.0";
    } else {
      operands.c = row_of(c_at);
      text += registers(kind, c_at, rows);
    }
  }
  // f8f6f4 has fewer registers for narrow formats.
  u32 factor_rows(u32 rows, u8 format) const {
    if (matrix.a != Element::f8f6f4) return rows;
    return static_cast<u32>(base::rows_of(static_cast<Narrow>(format)));
  }

  void set_scales() {
    operands.scale_a = m.v(scale_at);
    operands.scale_b = m.v(scale_at + 1);
    for (u32 lane = 0; lane < 64; ++lane) {
      m.v(scale_at)[lane] = 0x7f807e81 + lane % 3;
      m.v(scale_at + 1)[lane] = 0x817f807e - lane % 2;
    }
    operands.scale_byte_a = 1;
    operands.scale_byte_b = 2;
    text += ", " + registers('v', scale_at, 1) + ", " + registers('v', scale_at + 1, 1) +
            " op_sel:[1,0,0] op_sel_hi:[0,1,0]";
  }

  void check(Accumulator where) {
    matrix.run(operands);
    m.run(text);
    for (u32 r = 0; r < matrix.cd_rows; ++r) {
      const u32* got = where == Accumulator::accumulators ? m.a(d_at + r) : m.v(d_at + r);
      ASSERT_EQ(std::memcmp(got, result[r].lane, sizeof(Row)), 0) << text << " register " << r;
    }
  }
};

void check(const Matrix& matrix, Target target, Accumulator where) {
  Case c(matrix, target);
  c.set_accumulator(where);
  if (matrix.a == Element::f64) {
    c.operands.blgp = 5;  // which negates a and c
    c.text += " neg:[1,0,1]";
  } else {
    const bool broadcasts = matrix.blocks > 1 || matrix.sparse;
    c.operands.cbsz = broadcasts ? 1 : 0;
    c.operands.abid = broadcasts ? 1 : 0;
    c.operands.blgp = matrix.sparse ? 0 : 3;
    c.text += broadcasts ? " cbsz:1 abid:1" : "";
    c.text += matrix.sparse ? "" : " blgp:3";
  }
  c.check(where);
}

void check_narrow(const Matrix& matrix, u8 format_a, u8 format_b, Accumulator where) {
  Case c(matrix, Target::gfx950);
  c.operands.cbsz = format_a;
  c.operands.blgp = format_b;
  c.set_accumulator(where);
  if (matrix.mnemonic.find("_scale_") != std::string_view::npos) c.set_scales();
  if (format_a) c.text += " cbsz:" + std::to_string(format_a);
  if (format_b) c.text += " blgp:" + std::to_string(format_b);
  c.check(where);
}

TEST(MatrixInstructions, EachHasItsFunction) {
  for (const Target target : {Target::gfx942, Target::gfx950}) {
    for (const Opcode* opcode : all_opcodes(target)) {
      if (opcode->unit != Unit::matrix) continue;
      const Matrix* matrix = base::find_matrix(opcode->name, target);
      ASSERT_NE(matrix, nullptr) << opcode->name;
      for (const auto where :
           {Accumulator::vectors, Accumulator::accumulators, Accumulator::constant}) {
        if (matrix->a == Element::f8f6f4) {
          for (u8 format = 0; format < 5; ++format) {
            check_narrow(*matrix, format, static_cast<u8>((format + 3) % 5), where);
          }
        } else if (where != Accumulator::constant || !matrix->sparse) {
          check(*matrix, target, where);
        }
      }
    }
  }
}

}  // namespace
}  // namespace instinct
