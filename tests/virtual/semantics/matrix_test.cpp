// Layouts and modifiers of the matrix instructions, on integers, for which every order of summation
// is exact. How they round: matrix_sum_test.cpp.
#include "virtual/semantics/matrix.h"

#include <gtest/gtest.h>

#include <set>

#include "matrix_reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

bool is_dense(const Matrix& m) { return !m.sparse && m.a != Element::f8f6f4; }

// Small integers: products and sums are exact in all formats.
void fill_integers(Case& c, u32 seed) {
  std::mt19937 random(seed);
  const Matrix& m = c.matrix;
  const auto small = [&] { return static_cast<int>(random() % 9) - 4; };
  c.fill([&] { return code_of(m.a, small(), is_ocp(m)); },
         [&] { return code_of(m.b, small(), is_ocp(m)); },
         [&] { return static_cast<double>(static_cast<int>(random() % 201) - 100); });
}

TEST(Matrix, EveryDenseLayout) {
  int count = 0;
  for (const Matrix& m : matrices()) {
    if (!is_dense(m)) continue;
    Case c(m);
    fill_integers(c, 1);
    ASSERT_EQ(c.rows_a.size(), 64u * m.a_rows) << m.mnemonic;
    ASSERT_EQ(c.rows_b.size(), 64u * m.b_rows) << m.mnemonic;
    m.run(c.operands());
    c.for_each([&](int block, int i, int j) {
      double sum = c.c(block, i, j);
      for (int k = 0; k < m.k; ++k) sum += c.value_a(block, i, k) * c.value_b(block, j, k);
      ASSERT_EQ(c.d(block, i, j), sum) << m.mnemonic << " " << block << " " << i << " " << j;
    });
    ++count;
  }
  EXPECT_EQ(count, 46);
}

TEST(Matrix, TheResultMayBeTheAccumulator) {
  for (const Matrix& m : matrices()) {
    if (!is_dense(m)) continue;
    Case c(m);
    fill_integers(c, 2);
    m.run(c.operands());
    std::vector<u32> in_place = c.rows_c;
    MatrixOperands o = c.operands();
    const std::vector<u32> empty(c.rows_c.size());
    o.c = o.d = in_place.data();
    m.run(o);
    o = c.operands();
    m.run(o);
    ASSERT_EQ(in_place, c.rows_d) << m.mnemonic;
  }
}

TEST(Matrix, AConstantAccumulator) {
  for (const Matrix& m : matrices()) {
    if (!is_dense(m)) continue;
    Case c(m);
    fill_integers(c, 3);
    MatrixOperands o = c.operands();
    o.c = nullptr;
    o.c_constant = m.a == Element::f64 ? bits_of(3.0) : m.a == Element::i8 ? 3 : bits_of(3.0f);
    m.run(o);
    c.for_each([&](int block, int i, int j) {
      double sum = 3.0;
      for (int k = 0; k < m.k; ++k) sum += c.value_a(block, i, k) * c.value_b(block, j, k);
      ASSERT_EQ(c.d(block, i, j), sum) << m.mnemonic;
    });
  }
}

// CBSZ and ABID: groups of 2^cbsz blocks share the A of one.
TEST(Matrix, BroadcastsBlocksOfA) {
  for (const Matrix& m : matrices()) {
    if (!is_dense(m) || m.blocks == 1) continue;
    for (int cbsz = 1; (1 << cbsz) <= m.blocks; ++cbsz) {
      const int abid = (1 << cbsz) - 1;
      Case c(m);
      fill_integers(c, 4);
      MatrixOperands o = c.operands();
      o.cbsz = static_cast<u8>(cbsz);
      o.abid = static_cast<u8>(abid);
      m.run(o);
      c.for_each([&](int block, int i, int j) {
        const int from = block / (1 << cbsz) * (1 << cbsz) + abid;
        double sum = c.c(block, i, j);
        for (int k = 0; k < m.k; ++k) sum += c.value_a(from, i, k) * c.value_b(block, j, k);
        ASSERT_EQ(c.d(block, i, j), sum) << m.mnemonic << " cbsz " << cbsz;
      });
    }
  }
}

// BLGP ("CDNA3 ISA", table of BLGP): where each lane of B comes from.
TEST(Matrix, PermutesLanesOfB) {
  const int first_lane[8][4] = {{0, 16, 32, 48},  {0, 16, 0, 16},  {32, 48, 32, 48},
                                {16, 32, 48, 0},  {0, 0, 0, 0},    {16, 16, 16, 16},
                                {32, 32, 32, 32}, {48, 48, 48, 48}};
  for (const Matrix& m : matrices()) {
    if (!is_dense(m) || m.a == Element::f64) continue;
    for (int blgp = 1; blgp < 8; ++blgp) {
      Case c(m);
      fill_integers(c, 5);
      MatrixOperands o = c.operands();
      o.blgp = static_cast<u8>(blgp);
      m.run(o);
      const std::vector<u32> actual = c.rows_d;
      std::vector<u32> moved = c.rows_b;
      for (size_t r = 0; r < moved.size(); ++r) {
        const int lane = static_cast<int>(r % 64);
        moved[r] = c.rows_b[r / 64 * 64 + first_lane[blgp][lane / 16] + lane % 16];
      }
      o = c.operands();
      o.b = moved.data();
      m.run(o);
      ASSERT_EQ(actual, c.rows_d) << m.mnemonic << " blgp " << blgp;
    }
  }
}

TEST(Matrix, NegatesF64) {
  for (const Matrix& m : matrices()) {
    if (m.a != Element::f64) continue;
    for (int neg = 0; neg < 8; ++neg) {
      Case c(m);
      fill_integers(c, 6);
      MatrixOperands o = c.operands();
      o.blgp = static_cast<u8>(neg);
      m.run(o);
      c.for_each([&](int block, int i, int j) {
        double products = 0;
        for (int k = 0; k < m.k; ++k) products += c.value_a(block, i, k) * c.value_b(block, j, k);
        const double sign = ((neg & 1) != 0) != ((neg & 2) != 0) ? -1 : 1;
        const double start = (neg & 4) != 0 ? -c.c(block, i, j) : c.c(block, i, j);
        ASSERT_EQ(c.d(block, i, j), start + sign * products) << m.mnemonic << " " << neg;
      });
    }
  }
}

// i8 goes through its whole range; sums wrap around.
TEST(Matrix, IntegersWrapAround) {
  std::mt19937 random(7);
  for (const Matrix& m : matrices()) {
    if (!is_dense(m) || m.a != Element::i8) continue;
    Case c(m);
    c.fill([&] { return random() & 0xff; }, [&] { return random() & 0xff; },
           [&] { return static_cast<double>(static_cast<i32>(0x7fffff00u + random() % 256)); });
    m.run(c.operands());
    c.for_each([&](int block, int i, int j) {
      i64 sum = static_cast<i64>(c.c(block, i, j));
      for (int k = 0; k < m.k; ++k) {
        sum += static_cast<i64>(static_cast<i8>(c.a.at(block, i, k))) *
               static_cast<i8>(c.b.at(block, j, k));
      }
      ASSERT_EQ(c.d(block, i, j), static_cast<double>(static_cast<i32>(sum))) << m.mnemonic;
    });
  }
}

// Sparse: of every four along k, A keeps two, at the places that the index names.
TEST(Matrix, EverySparseLayout) {
  std::mt19937 random(8);
  int count = 0;
  for (const Matrix& m : matrices()) {
    if (!m.sparse) continue;
    const int bits = element_bits(m.a), kept = 32 * m.a_rows / bits;  // of a lane
    const int sets = std::max(1, 32 / (2 * kept));
    for (int set = 0; set < sets; ++set) {
      Case c(m);
      fill_integers(c, 9);
      std::vector<u32> index(64), compressed(static_cast<size_t>(64) * m.a_rows);
      std::vector<std::vector<double>> a(m.m, std::vector<double>(m.k));
      for (int lane = 0; lane < 64; ++lane) {
        u64 places = 0;
        for (int p = 0; p < kept; ++p) {
          // Ascending within four: (0..2) then a later one.
          const u64 before = p % 2 == 0 ? 0 : (places >> (2 * p - 2) & 3) + 1;
          const u64 place = p % 2 == 0 ? random() % 3 : before + random() % (4 - before);
          places |= place << (2 * p);
          const int x = static_cast<int>(random() % 9) - 4;
          const u64 code = code_of(m.a, x, is_ocp(m));
          compressed[64 * (p * bits / 32) + lane] |= static_cast<u32>(code << (p * bits % 32));
          const int k = 2 * kept * (lane / m.m) + 4 * (p / 2) + static_cast<int>(place);
          a[lane % m.m][k] = x;
        }
        index[lane] = random();
        const u64 mask = kept == 16 ? 0xffffffffu : (u64{1} << (2 * kept)) - 1;
        const int shift = kept == 16 ? 0 : 2 * kept * set;
        index[lane] = static_cast<u32>((index[lane] & ~(mask << shift)) | places << shift);
      }
      MatrixOperands o = c.operands();
      o.a = compressed.data();
      o.index = index.data();
      o.abid = static_cast<u8>(set);
      o.d = c.rows_d.data();
      m.run(o);
      c.for_each([&](int block, int i, int j) {
        double sum = c.c(block, i, j);
        for (int k = 0; k < m.k; ++k) sum += a[i][k] * c.value_b(block, j, k);
        ASSERT_EQ(c.d(block, i, j), sum) << m.mnemonic << " set " << set;
      });
    }
    ++count;
  }
  EXPECT_EQ(count, 36);
}

TEST(Matrix, FindsByTarget) {
  EXPECT_EQ(find_matrix("v_mfma_f32_32x32x16_bf16", Target::gfx942), nullptr);
  ASSERT_NE(find_matrix("v_mfma_f32_32x32x16_bf16", Target::gfx950), nullptr);
  EXPECT_EQ(find_matrix("v_mfma_f32_16x16x8_xf32", Target::gfx950), nullptr);
  EXPECT_EQ(find_matrix("v_mfma_f32_16x16x9_bf16", Target::gfx942), nullptr);
  const Matrix* fnuz = find_matrix("v_mfma_f32_16x16x32_fp8_fp8", Target::gfx942);
  const Matrix* ocp = find_matrix("v_mfma_f32_16x16x32_fp8_fp8", Target::gfx950);
  ASSERT_NE(fnuz, nullptr);
  ASSERT_NE(ocp, nullptr);
  EXPECT_NE(fnuz, ocp);
  std::set<std::pair<std::string_view, u8>> names;
  for (const Matrix& m : matrices()) EXPECT_TRUE(names.emplace(m.mnemonic, m.targets).second);
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
