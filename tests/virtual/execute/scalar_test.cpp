// Scalar instructions, each against arithmetic written out here.
#include <functional>

#include "machine.h"

namespace instinct {
namespace {

struct Result {
  u64 value;
  int scc = -1;  // -1: keeps what it was
};
struct Case {
  const char* name;
  u32 words[3];  // of the destination (0: none) and the sources
  std::function<Result(u64 a, u64 b, bool scc)> of;
};

Result logic(u64 x, u32 words) {
  const u64 value = words == 2 ? x : x & 0xffffffff;
  return {value, value != 0};
}
i64 i(u64 x) { return static_cast<i32>(x); }
u64 low(u64 x) { return x & 0xffffffff; }
int over(i64 x) { return x < INT32_MIN || x > INT32_MAX; }
u64 first_bit(u64 x, u32 width, bool from_top) {
  for (u32 k = 0; k < width; ++k) {
    if (x >> (from_top ? width - 1 - k : k) & 1) return k;
  }
  return ~u64{0};
}
u64 first_unlike_sign(u64 x, u32 width) {
  for (u32 k = 1; k < width; ++k) {
    if ((x >> (width - 1 - k) & 1) != (x >> (width - 1) & 1)) return k;
  }
  return ~u64{0};
}
u64 ones(u32 width) { return width >= 64 ? ~u64{0} : (u64{1} << width) - 1; }
u64 extract(u64 a, u64 b, u32 size, bool is_signed) {
  const u32 at = b % size, width = std::min<u32>(b >> 16 & 127, size);
  if (!width) return 0;
  u64 x = is_signed ? static_cast<u64>(static_cast<i64>(a << (64 - size)) >> (64 - size)) : a;
  x = is_signed ? static_cast<u64>(static_cast<i64>(x) >> at) : x >> at;
  x &= ones(width);
  return is_signed && x >> (width - 1) & 1 ? x | ~ones(width) : x;
}
u64 reverse(u64 a, u32 width) {
  u64 r = 0;
  for (u32 k = 0; k < width; ++k) r |= (a >> k & 1) << (width - 1 - k);
  return r;
}
// `value` at `step` bits for each group of four bits that is not 0.
u64 quads(u64 a, u32 width, u32 step, u64 value) {
  u64 r = 0;
  for (u32 k = 0; k < width / 4; ++k) r |= (a >> 4 * k & 15 ? value : 0) << step * k;
  return r;
}

const Case scalar_cases[] = {
    {"s_mov_b32", {1, 1}, [](u64 a, u64, bool) { return Result{a}; }},
    {"s_mov_b64", {2, 2}, [](u64 a, u64, bool) { return Result{a}; }},
    {"s_not_b32", {1, 1}, [](u64 a, u64, bool) { return logic(~a, 1); }},
    {"s_not_b64", {2, 2}, [](u64 a, u64, bool) { return logic(~a, 2); }},
    {"s_brev_b32", {1, 1}, [](u64 a, u64, bool) { return Result{reverse(a, 32)}; }},
    {"s_brev_b64", {2, 2}, [](u64 a, u64, bool) { return Result{reverse(a, 64)}; }},
    {"s_sext_i32_i8", {1, 1}, [](u64 a, u64, bool) { return Result{u64(i8(a))}; }},
    {"s_sext_i32_i16", {1, 1}, [](u64 a, u64, bool) { return Result{u64(i16(a))}; }},
    {"s_abs_i32", {1, 1}, [](u64 a, u64, bool) { return logic(u64(i(a) < 0 ? -i(a) : i(a)), 1); }},
    {"s_bcnt0_i32_b32", {1, 1}, [](u64 a, u64, bool) { return logic(32 - std::popcount(a), 1); }},
    {"s_bcnt0_i32_b64", {1, 2}, [](u64 a, u64, bool) { return logic(64 - std::popcount(a), 1); }},
    {"s_bcnt1_i32_b32", {1, 1}, [](u64 a, u64, bool) { return logic(std::popcount(a), 1); }},
    {"s_bcnt1_i32_b64", {1, 2}, [](u64 a, u64, bool) { return logic(std::popcount(a), 1); }},
    {"s_ff0_i32_b32", {1, 1}, [](u64 a, u64, bool) { return Result{first_bit(~a, 32, false)}; }},
    {"s_ff0_i32_b64", {1, 2}, [](u64 a, u64, bool) { return Result{first_bit(~a, 64, false)}; }},
    {"s_ff1_i32_b32", {1, 1}, [](u64 a, u64, bool) { return Result{first_bit(a, 32, false)}; }},
    {"s_ff1_i32_b64", {1, 2}, [](u64 a, u64, bool) { return Result{first_bit(a, 64, false)}; }},
    {"s_flbit_i32_b32", {1, 1}, [](u64 a, u64, bool) { return Result{first_bit(a, 32, true)}; }},
    {"s_flbit_i32_b64", {1, 2}, [](u64 a, u64, bool) { return Result{first_bit(a, 64, true)}; }},
    {"s_flbit_i32", {1, 1}, [](u64 a, u64, bool) { return Result{first_unlike_sign(a, 32)}; }},
    {"s_flbit_i32_i64", {1, 2}, [](u64 a, u64, bool) { return Result{first_unlike_sign(a, 64)}; }},
    {"s_bitreplicate_b64_b32",
     {2, 1},
     [](u64 a, u64, bool) {
       u64 r = 0;
       for (u32 k = 0; k < 64; ++k) r |= (a >> k / 2 & 1) << k;
       return Result{r};
     }},
    {"s_quadmask_b32", {1, 1}, [](u64 a, u64, bool) { return logic(quads(a, 32, 1, 1), 1); }},
    {"s_quadmask_b64", {2, 2}, [](u64 a, u64, bool) { return logic(quads(a, 64, 1, 1), 2); }},
    {"s_wqm_b32", {1, 1}, [](u64 a, u64, bool) { return logic(quads(a, 32, 4, 15), 1); }},
    {"s_wqm_b64", {2, 2}, [](u64 a, u64, bool) { return logic(quads(a, 64, 4, 15), 2); }},
    {"s_add_u32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{a + b, a + b > 0xffffffff}; }},
    {"s_sub_u32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{a - b, b > a}; }},
    {"s_addc_u32",
     {1, 1, 1},
     [](u64 a, u64 b, bool s) { return Result{a + b + s, a + b + s > 0xffffffff}; }},
    {"s_subb_u32", {1, 1, 1}, [](u64 a, u64 b, bool s) { return Result{a - b - s, b + s > a}; }},
    {"s_add_i32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{a + b, over(i(a) + i(b))}; }},
    {"s_sub_i32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{a - b, over(i(a) - i(b))}; }},
    {"s_mul_i32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{a * b}; }},
    {"s_mul_hi_u32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{a * b >> 32}; }},
    {"s_mul_hi_i32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{u64(i(a) * i(b) >> 32)}; }},
    {"s_min_i32",
     {1, 1, 1},
     [](u64 a, u64 b, bool) { return Result{i(a) < i(b) ? a : b, i(a) < i(b)}; }},
    {"s_max_i32",
     {1, 1, 1},
     [](u64 a, u64 b, bool) { return Result{i(a) > i(b) ? a : b, i(a) > i(b)}; }},
    {"s_min_u32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{std::min(a, b), a < b}; }},
    {"s_max_u32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{std::max(a, b), a > b}; }},
    {"s_absdiff_i32",
     {1, 1, 1},
     [](u64 a, u64 b, bool) {
       const i64 d = i(a - b);
       return logic(u64(d < 0 ? -d : d), 1);
     }},
    {"s_lshl1_add_u32",
     {1, 1, 1},
     [](u64 a, u64 b, bool) { return Result{2 * a + b, (2 * a + b) >> 32 != 0}; }},
    {"s_lshl2_add_u32",
     {1, 1, 1},
     [](u64 a, u64 b, bool) { return Result{4 * a + b, (4 * a + b) >> 32 != 0}; }},
    {"s_lshl3_add_u32",
     {1, 1, 1},
     [](u64 a, u64 b, bool) { return Result{8 * a + b, (8 * a + b) >> 32 != 0}; }},
    {"s_lshl4_add_u32",
     {1, 1, 1},
     [](u64 a, u64 b, bool) { return Result{16 * a + b, (16 * a + b) >> 32 != 0}; }},
    {"s_and_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(a & b, 1); }},
    {"s_or_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(a | b, 1); }},
    {"s_xor_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(a ^ b, 1); }},
    {"s_andn2_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(a & ~b, 1); }},
    {"s_orn2_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(a | ~b, 1); }},
    {"s_nand_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(~(a & b), 1); }},
    {"s_nor_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(~(a | b), 1); }},
    {"s_xnor_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(~(a ^ b), 1); }},
    {"s_and_b64", {2, 2, 2}, [](u64 a, u64 b, bool) { return logic(a & b, 2); }},
    {"s_or_b64", {2, 2, 2}, [](u64 a, u64 b, bool) { return logic(a | b, 2); }},
    {"s_xor_b64", {2, 2, 2}, [](u64 a, u64 b, bool) { return logic(a ^ b, 2); }},
    {"s_andn2_b64", {2, 2, 2}, [](u64 a, u64 b, bool) { return logic(a & ~b, 2); }},
    {"s_orn2_b64", {2, 2, 2}, [](u64 a, u64 b, bool) { return logic(a | ~b, 2); }},
    {"s_nand_b64", {2, 2, 2}, [](u64 a, u64 b, bool) { return logic(~(a & b), 2); }},
    {"s_nor_b64", {2, 2, 2}, [](u64 a, u64 b, bool) { return logic(~(a | b), 2); }},
    {"s_xnor_b64", {2, 2, 2}, [](u64 a, u64 b, bool) { return logic(~(a ^ b), 2); }},
    {"s_lshl_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(a << b % 32, 1); }},
    {"s_lshl_b64", {2, 2, 1}, [](u64 a, u64 b, bool) { return logic(a << b % 64, 2); }},
    {"s_lshr_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(a >> b % 32, 1); }},
    {"s_lshr_b64", {2, 2, 1}, [](u64 a, u64 b, bool) { return logic(a >> b % 64, 2); }},
    {"s_ashr_i32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(u64(i(a) >> b % 32), 1); }},
    {"s_ashr_i64", {2, 2, 1}, [](u64 a, u64 b, bool) { return logic(u64(i64(a) >> b % 64), 2); }},
    {"s_bfm_b32", {1, 1, 1}, [](u64 a, u64 b, bool) { return Result{ones(a % 32) << b % 32}; }},
    {"s_bfm_b64", {2, 1, 1}, [](u64 a, u64 b, bool) { return Result{ones(a % 64) << b % 64}; }},
    {"s_bfe_u32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(extract(a, b, 32, false), 1); }},
    {"s_bfe_i32", {1, 1, 1}, [](u64 a, u64 b, bool) { return logic(extract(a, b, 32, true), 1); }},
    {"s_bfe_u64", {2, 2, 1}, [](u64 a, u64 b, bool) { return logic(extract(a, b, 64, false), 2); }},
    {"s_bfe_i64", {2, 2, 1}, [](u64 a, u64 b, bool) { return logic(extract(a, b, 64, true), 2); }},
    {"s_pack_ll_b32_b16",
     {1, 1, 1},
     [](u64 a, u64 b, bool) { return Result{(a & 0xffff) | b << 16}; }},
    {"s_pack_lh_b32_b16",
     {1, 1, 1},
     [](u64 a, u64 b, bool) { return Result{(a & 0xffff) | (b >> 16) << 16}; }},
    {"s_pack_hh_b32_b16",
     {1, 1, 1},
     [](u64 a, u64 b, bool) { return Result{a >> 16 | (b >> 16) << 16}; }},
    {"s_cselect_b32", {1, 1, 1}, [](u64 a, u64 b, bool s) { return Result{s ? a : b}; }},
    {"s_cselect_b64", {2, 2, 2}, [](u64 a, u64 b, bool s) { return Result{s ? a : b}; }},
    {"s_cmp_eq_i32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, a == b}; }},
    {"s_cmp_lg_i32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, a != b}; }},
    {"s_cmp_gt_i32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, i(a) > i(b)}; }},
    {"s_cmp_ge_i32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, i(a) >= i(b)}; }},
    {"s_cmp_lt_i32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, i(a) < i(b)}; }},
    {"s_cmp_le_i32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, i(a) <= i(b)}; }},
    {"s_cmp_eq_u32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, a == b}; }},
    {"s_cmp_lg_u32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, a != b}; }},
    {"s_cmp_gt_u32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, a > b}; }},
    {"s_cmp_ge_u32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, a >= b}; }},
    {"s_cmp_lt_u32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, a < b}; }},
    {"s_cmp_le_u32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, a <= b}; }},
    {"s_cmp_eq_u64", {0, 2, 2}, [](u64 a, u64 b, bool) { return Result{0, a == b}; }},
    {"s_cmp_lg_u64", {0, 2, 2}, [](u64 a, u64 b, bool) { return Result{0, a != b}; }},
    {"s_bitcmp0_b32", {0, 1, 1}, [](u64 a, u64 b, bool) { return Result{0, !(a >> b % 32 & 1)}; }},
    {"s_bitcmp1_b32",
     {0, 1, 1},
     [](u64 a, u64 b, bool) { return Result{0, int(a >> b % 32 & 1)}; }},
    {"s_bitcmp0_b64", {0, 2, 1}, [](u64 a, u64 b, bool) { return Result{0, !(a >> b % 64 & 1)}; }},
    {"s_bitcmp1_b64",
     {0, 2, 1},
     [](u64 a, u64 b, bool) { return Result{0, int(a >> b % 64 & 1)}; }},
};

std::string pair(u32 first, u32 words) {
  if (words == 1) return "s" + std::to_string(first);
  return "s[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]";
}

TEST(Scalar, All) {
  for (const Case& test : scalar_cases) {
    Machine m;
    std::string text = test.name;
    if (test.words[0]) text += " " + pair(20, test.words[0]) + ",";
    text += " " + pair(10, test.words[1]);
    if (test.words[2]) text += ", " + pair(12, test.words[2]);
    for (u32 round = 0; round < 200; ++round) {
      for (u32 r = 10; r < 14; ++r) m.s(r) = sample(round, r);
      if (round % 5 == 1) m.s(12) = m.s(10), m.s(13) = m.s(11);
      const bool scc = round & 1;
      m.wave().scc = scc;
      const u64 a = test.words[1] == 2 ? m.s64(10) : m.s(10);
      const u64 b = test.words[2] == 2 ? m.s64(12) : m.s(12);
      const Result expected = test.of(a, b, scc);
      m.run(text);
      const u64 got = test.words[0] == 2 ? m.s64(20) : m.s(20);
      if (test.words[0]) {
        ASSERT_EQ(got, test.words[0] == 2 ? expected.value : low(expected.value)) << text;
      }
      ASSERT_EQ(m.wave().scc, expected.scc < 0 ? scc : expected.scc)
          << text << " " << a << " " << b;
    }
  }
}

TEST(Scalar, Immediates) {
  Machine m;
  m.run("s_movk_i32 s4, 0xfffe");
  EXPECT_EQ(m.s(4), 0xfffffffeu);
  m.run("s_addk_i32 s4, 0x5");
  EXPECT_EQ(m.s(4), 3u);
  EXPECT_FALSE(m.wave().scc);
  m.run("s_mulk_i32 s4, 0xfffd");
  EXPECT_EQ(m.s(4), u32(-9));
  const std::pair<const char*, bool> compares[] = {
      {"s_cmpk_eq_i32 s4, 0xfff7", true},  {"s_cmpk_lg_i32 s4, 0xfff7", false},
      {"s_cmpk_gt_i32 s4, 0xfff0", true},  {"s_cmpk_ge_i32 s4, 0xfff8", false},
      {"s_cmpk_lt_i32 s4, 0x1", true},     {"s_cmpk_le_i32 s4, 0xfff0", false},
      {"s_cmpk_eq_u32 s4, 0xfff7", false}, {"s_cmpk_lg_u32 s4, 0xfff7", true},
      {"s_cmpk_gt_u32 s4, 0xffff", true},  {"s_cmpk_ge_u32 s4, 0xffff", true},
      {"s_cmpk_lt_u32 s4, 0xffff", false}, {"s_cmpk_le_u32 s4, 0xffff", false}};
  for (const auto& [text, expected] : compares) {
    m.run(text);
    EXPECT_EQ(m.wave().scc, expected) << text;
  }
}

TEST(Scalar, Conditional) {
  Machine m;
  m.s(4) = 1;
  m.s(5) = 2;
  m.set_s64(6, 3);
  m.set_s64(8, 4);
  for (const bool scc : {false, true}) {
    m.wave().scc = scc;
    m.run("s_cmov_b32 s4, s5");
    EXPECT_EQ(m.s(4), scc ? 2u : 1u);
    m.run("s_cmov_b64 s[6:7], s[8:9]");
    EXPECT_EQ(m.s64(6), scc ? 4u : 3u);
    m.run("s_cmovk_i32 s5, 0x7");
    EXPECT_EQ(m.s(5), scc ? 7u : 2u);
  }
}

TEST(Scalar, SetsBits) {
  Machine m;
  m.s(4) = 0xf0;
  m.run("s_bitset0_b32 s4, 4");
  m.run("s_bitset1_b32 s4, 1");
  EXPECT_EQ(m.s(4), 0xe2u);
  m.set_s64(4, 0);
  m.run("s_bitset1_b64 s[4:5], 40");
  EXPECT_EQ(m.s64(4), u64{1} << 40);
  m.run("s_bitset0_b64 s[4:5], 40");
  EXPECT_EQ(m.s64(4), 0u);
  m.set_s64(6, 0x0001000000100200);
  m.run("s_wqm_b64 s[4:5], s[6:7]");
  EXPECT_EQ(m.s64(4), 0x000f000000f00f00u);
}

// D = EXEC; EXEC = f(S, EXEC).
TEST(Scalar, SavesExec) {
  const u64 exec = 0xff00ff00ff00ff00, s = 0x123456789abcdef0;
  const std::pair<const char*, u64> cases[] = {
      {"and", s & exec},    {"or", s | exec},     {"xor", s ^ exec},   {"andn1", ~s & exec},
      {"andn2", s & ~exec}, {"orn1", ~s | exec},  {"orn2", s | ~exec}, {"nand", ~(s & exec)},
      {"nor", ~(s | exec)}, {"xnor", ~(s ^ exec)}};
  for (const auto& [name, expected] : cases) {
    Machine m;
    m.wave().set_exec(exec);
    m.set_s64(4, s);
    m.run(std::string("s_") + name + "_saveexec_b64 s[6:7], s[4:5]");
    EXPECT_EQ(m.s64(6), exec);
    EXPECT_EQ(m.wave().exec(), expected) << name;
    EXPECT_EQ(m.wave().scc, expected != 0);
  }
  for (const bool first : {true, false}) {
    Machine m;
    m.wave().set_exec(exec);
    m.set_s64(4, s);
    m.run(first ? "s_andn1_wrexec_b64 s[6:7], s[4:5]" : "s_andn2_wrexec_b64 s[6:7], s[4:5]");
    EXPECT_EQ(m.wave().exec(), first ? ~s & exec : s & ~exec);
    EXPECT_EQ(m.s64(6), m.wave().exec());
  }
}

TEST(Scalar, RelativeRegisters) {
  Machine m;
  m.s(m0_register) = 3;
  for (u32 r = 10; r < 20; ++r) m.s(r) = r;
  m.run("s_movrels_b32 s4, s10");
  EXPECT_EQ(m.s(4), 13u);
  m.run("s_movrels_b64 s[4:5], s[10:11]");
  EXPECT_EQ(m.s64(4), 13 | 14ull << 32);
  m.run("s_movreld_b32 s10, s19");
  EXPECT_EQ(m.s(13), 19u);
  m.run("s_movreld_b64 s[12:13], s[18:19]");
  EXPECT_EQ(m.s64(15), 18 | 19ull << 32);
}

TEST(Scalar, IndexedVectors) {
  Machine m;
  for (u32 r = 0; r < 8; ++r) m.v(r)[9] = 100 + r;
  m.s(4) = 3;
  m.run("s_set_gpr_idx_on s4, gpr_idx(SRC0)");
  m.run("v_mov_b32_e32 v0, v2");
  EXPECT_EQ(m.v(0)[9], 105u);
  m.run("s_set_gpr_idx_mode gpr_idx(DST)");
  m.run("s_set_gpr_idx_idx 4");
  m.run("v_mov_b32_e32 v0, v2");
  EXPECT_EQ(m.v(4)[9], 102u);
  m.run("s_set_gpr_idx_off");
  m.run("v_mov_b32_e32 v0, v2");
  EXPECT_EQ(m.v(0)[9], 102u);
}

TEST(Scalar, Mode) {
  Machine m;
  m.s(4) = 2;
  m.run("s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s4");
  m.run("s_getreg_b32 s5, hwreg(HW_REG_MODE, 4, 2)");
  EXPECT_EQ(m.s(5), 2u);
  m.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15");
  m.run("s_getreg_b32 s5, hwreg(HW_REG_MODE, 4, 4)");
  EXPECT_EQ(m.s(5), 15u);
}

TEST(Scalar, Clocks) {
  Machine m;
  m.run("s_memtime s[4:5]");
  const u64 before = m.s64(4);
  m.run("s_nop 0");
  m.run("s_memtime s[4:5]");
  EXPECT_GT(m.s64(4), before);
  m.run("s_memrealtime s[4:5]");
  EXPECT_GT(m.s64(4), 0u);
  for (const char* nothing : {"s_setprio 1",
                              "s_icache_inv",
                              "s_sendmsg sendmsg(MSG_INTERRUPT)",
                              "s_sleep 1",
                              "s_dcache_wb",
                              "s_dcache_inv",
                              "s_waitcnt vmcnt(0)",
                              "v_nop",
                              "buffer_wbl2 sc1",
                              "buffer_inv sc1",
                              "ds_nop",
                              "s_sethalt 0",
                              "s_incperflevel 1",
                              "s_decperflevel 1",
                              "s_ttracedata",
                              "s_wakeup",
                              "s_setkill 0",
                              "s_dcache_inv_vol",
                              "s_dcache_wb_vol",
                              "s_sendmsghalt sendmsg(MSG_INTERRUPT)",
                              "s_cbranch_cdbgsys 5",
                              "s_cbranch_cdbguser 5",
                              "s_cbranch_cdbgsys_or_user 5",
                              "s_cbranch_cdbgsys_and_user 5"}) {
    m.run(nothing);
  }
}

}  // namespace
}  // namespace instinct
