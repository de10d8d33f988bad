// v_mfma_scale_f32_*_f8f6f4: formats, layouts and scales, with numbers whose sums are exact.
#include <gtest/gtest.h>

#include "matrix_reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr Format formats[] = {e4m3_format, e5m2_format, e2m3_format, e3m2_format, e2m1_format};

u32 narrow_to(int format, float x) {
  switch (format) {
    case 0: return narrow<e4m3_format>(x);
    case 1: return narrow<e5m2_format>(x);
    case 2: return narrow<e2m3_format>(x);
    case 3: return narrow<e3m2_format>(x);
    default: return narrow<e2m1_format>(x);
  }
}

// 64 lanes of 8 registers with `codes[row][k]` in place. Of 6 and 4 bits, a lane has 32 in
// sequence; of 8 bits 16, and 16 more half of k further on (AMD, "Matrix Core Programming on CDNA3
// and CDNA4").
std::vector<u32> registers(const std::vector<std::vector<u32>>& codes, int format) {
  const int side = static_cast<int>(codes.size()), depth = static_cast<int>(codes[0].size());
  const int bits = formats[format].bits();
  std::vector<u32> rows(64 * 8, 0xffffffffu);
  for (int r = 0; r < rows_of(static_cast<Narrow>(format)); ++r) {
    std::fill_n(rows.begin() + 64 * r, 64, 0);
  }
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < depth; ++k) {
      int lane = i + side * (k / 32), position = k % 32;
      if (bits == 8) {
        lane = i + side * (k % (depth / 2) / 16);
        position = k % 16 + (k >= depth / 2 ? 16 : 0);
      }
      const u64 placed = u64{codes[i][k]} << (position * bits % 32);
      const size_t word = 64 * static_cast<size_t>(position * bits / 32) + lane;
      rows[word] |= static_cast<u32>(placed);
      if (placed >> 32 != 0) rows[word + 64] |= static_cast<u32>(placed >> 32);
    }
  }
  return rows;
}

struct ScaledCase {
  std::vector<std::vector<float>> a, b;
  std::vector<u32> rows_a, rows_b, rows_c, scale_a, scale_b;

  ScaledCase(const Matrix& m, int format_a, int format_b, u32 seed) {
    std::mt19937 random(seed);
    rows_a = operand(m, format_a, a, random);
    rows_b = operand(m, format_b, b, random);
    rows_c.resize(64 * m.cd_rows);
    for (u32& word : rows_c) word = bits_of(static_cast<float>(random() % 64));
    for (auto* scale : {&scale_a, &scale_b}) {
      scale->resize(64);
      for (u32& word : *scale) {
        word = 0;
        for (int byte = 0; byte < 4; ++byte) word |= (125 + random() % 5) << (8 * byte);
      }
    }
  }
  static std::vector<u32> operand(const Matrix& m, int format, std::vector<std::vector<float>>& x,
                                  std::mt19937& random) {
    x.assign(m.m, std::vector<float>(m.k));
    std::vector<std::vector<u32>> codes(m.m, std::vector<u32>(m.k));
    for (int i = 0; i < m.m; ++i) {
      for (int k = 0; k < m.k; ++k) {
        x[i][k] = static_cast<float>(static_cast<int>(random() % 7) - 3);
        codes[i][k] = narrow_to(format, x[i][k]);
      }
    }
    return registers(codes, format);
  }
  MatrixOperands operands(int format_a, int format_b, std::vector<u32>& d) const {
    MatrixOperands o;
    o.a = rows_a.data();
    o.b = rows_b.data();
    o.c = rows_c.data();
    d.resize(rows_c.size());
    o.d = d.data();
    o.cbsz = static_cast<u8>(format_a);
    o.blgp = static_cast<u8>(format_b);
    return o;
  }
};

std::vector<const Matrix*> scaled_matrices() {
  std::vector<const Matrix*> found;
  for (const Matrix& m : matrices()) {
    if (m.a == Element::f8f6f4) found.push_back(&m);
  }
  return found;
}

TEST(MatrixScaled, EveryPairOfFormats) {
  ASSERT_EQ(scaled_matrices().size(), 4u);
  for (const Matrix* m : scaled_matrices()) {
    for (int format_a = 0; format_a < 5; ++format_a) {
      for (int format_b = 0; format_b < 5; ++format_b) {
        const ScaledCase c(*m, format_a, format_b, 1);
        std::vector<u32> d;
        m->run(c.operands(format_a, format_b, d));
        for (int i = 0; i < m->m; ++i) {
          for (int j = 0; j < m->n; ++j) {
            const ResultPlace at = result_place(*m, 0, i, j);
            float sum = float_of(c.rows_c[64 * at.row + at.lane]);
            for (int k = 0; k < m->k; ++k) sum += c.a[i][k] * c.b[j][k];
            ASSERT_EQ(float_of(d[64 * at.row + at.lane]), sum)
                << m->mnemonic << " " << format_a << " " << format_b << " " << i << " " << j;
          }
        }
      }
    }
  }
}

// Lane i + m * block has the scale of row i's k from 32 * block on, in the byte that is selected.
TEST(MatrixScaled, ScalesBlocksOf32) {
  for (const Matrix* m : scaled_matrices()) {
    for (int byte = 0; byte < 4; ++byte) {
      for (const auto& [format_a, format_b] : {std::pair(0, 0), {0, 4}, {4, 1}, {2, 3}}) {
        const ScaledCase c(*m, format_a, format_b, 2);
        std::vector<u32> d;
        MatrixOperands o = c.operands(format_a, format_b, d);
        o.scale_a = c.scale_a.data();
        o.scale_b = c.scale_b.data();
        o.scale_byte_a = static_cast<u8>(byte);
        o.scale_byte_b = static_cast<u8>(3 - byte);
        m->run(o);
        for (int i = 0; i < m->m; ++i) {
          for (int j = 0; j < m->n; ++j) {
            const ResultPlace at = result_place(*m, 0, i, j);
            double sum = float_of(c.rows_c[64 * at.row + at.lane]);
            for (int k = 0; k < m->k; ++k) {
              const int block = k / 32;
              const u32 scale_a = c.scale_a[i + m->m * block] >> (8 * byte) & 0xff;
              const u32 scale_b = c.scale_b[j + m->n * block] >> (8 * (3 - byte)) & 0xff;
              const int exponent = static_cast<int>(scale_a + scale_b) - 254;
              sum += std::ldexp(c.a[i][k] * c.b[j][k], exponent);
            }
            ASSERT_EQ(float_of(d[64 * at.row + at.lane]), static_cast<float>(sum))
                << m->mnemonic << " " << format_a << " " << format_b << " byte " << byte;
          }
        }
      }
    }
  }
}

// Scales from 2^-127 to 2^127, whose products with the elements may not fit into f32 at all.
TEST(MatrixScaled, ExtremeScales) {
  for (const Matrix* m : scaled_matrices()) {
    for (const auto& [scale_a, scale_b] :
         {std::pair(0u, 0u), {254u, 0u}, {254u, 254u}, {1u, 200u}}) {
      ScaledCase c(*m, 0, 0, 3);
      std::vector<u32> d;
      MatrixOperands o = c.operands(0, 0, d);
      o.c = nullptr;
      std::fill(c.scale_a.begin(), c.scale_a.end(), scale_a);
      std::fill(c.scale_b.begin(), c.scale_b.end(), scale_b);
      o.scale_a = c.scale_a.data();
      o.scale_b = c.scale_b.data();
      m->run(o);
      for (int i = 0; i < m->m; ++i) {
        for (int j = 0; j < m->n; ++j) {
          double sum = 0;
          for (int k = 0; k < m->k; ++k) sum += c.a[i][k] * c.b[j][k];
          const int exponent = static_cast<int>(scale_a + scale_b) - 254;
          const ResultPlace at = result_place(*m, 0, i, j);
          const float actual = float_of(d[64 * at.row + at.lane]);
          if (scale_a + scale_b == 508) {  // partial sums overflow
            ASSERT_TRUE(!std::isfinite(actual) || sum == 0 || actual == 0) << actual << " " << sum;
          } else {
            const double tolerance = std::max(std::ldexp(4.0, exponent) * 0x1p-20, 0x1p-150);
            ASSERT_NEAR(actual, std::ldexp(sum, exponent), tolerance)
                << m->mnemonic << " " << scale_a << " " << scale_b;
          }
        }
      }
    }
  }
}

TEST(MatrixScaled, NanScaleSpoilsItsRow) {
  for (const Matrix* m : scaled_matrices()) {
    ScaledCase c(*m, 0, 4, 4);
    std::vector<u32> d;
    MatrixOperands o = c.operands(0, 4, d);
    c.scale_a[3 + m->m] = 0xff;  // row 3, second block
    o.scale_a = c.scale_a.data();
    m->run(o);
    for (int i = 0; i < m->m; ++i) {
      for (int j = 0; j < m->n; ++j) {
        const ResultPlace at = result_place(*m, 0, i, j);
        ASSERT_EQ(std::isnan(float_of(d[64 * at.row + at.lane])), i == 3) << m->mnemonic;
      }
    }
  }
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
