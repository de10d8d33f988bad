// Vector integer instructions, each against arithmetic written out here.
#include <algorithm>
#include <functional>

#include "machine.h"

namespace instinct {
namespace {

using Reference = std::function<u64(u64 a, u64 b, u64 c)>;
struct Case {
  const char* name;
  u32 words[4];  // of the destination and of the sources; 0: none
  Reference of;
};

i64 as_signed(u64 x) { return static_cast<i32>(x); }
u64 low(u64 x) { return x & 0xffffffff; }
i64 low24(u64 x) { return static_cast<i64>(x << 40) >> 40; }
i32 half(u64 x) { return static_cast<i16>(x); }
u64 field(u64 x, u64 at, u64 width) { return width ? x >> at & ((u64{1} << width) - 1) : 0; }
u64 select_byte(u64 a, u64 b, u64 selector) {
  if (selector < 4) return b >> 8 * selector & 255;
  if (selector < 8) return a >> 8 * (selector - 4) & 255;
  if (selector > 11) return selector == 12 ? 0 : 255;
  const u64 signs[] = {b >> 15 & 1, b >> 31 & 1, a >> 15 & 1, a >> 31 & 1};
  return signs[selector - 8] ? 255 : 0;
}
u64 bytewise(u64 a, u64 b, const std::function<u64(u64, u64)>& f) {
  u64 sum = 0;
  for (int i = 0; i < 4; ++i) sum += f(a >> 8 * i & 255, b >> 8 * i & 255);
  return sum;
}
u64 distance(u64 a, u64 b) { return a > b ? a - b : b - a; }
i64 middle(i64 a, i64 b, i64 c) {
  i64 all[] = {a, b, c};
  std::sort(all, all + 3);
  return all[1];
}

const Case cases[] = {
    {"v_mov_b32", {1, 1}, [](u64 a, u64, u64) { return a; }},
    {"v_mov_b64", {2, 2}, [](u64 a, u64, u64) { return a; }},
    {"v_not_b32", {1, 1}, [](u64 a, u64, u64) { return ~a; }},
    {"v_bfrev_b32",
     {1, 1},
     [](u64 a, u64, u64) {
       u64 r = 0;
       for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
       return r;
     }},
    {"v_ffbh_u32", {1, 1}, [](u64 a, u64, u64) { return a ? std::countl_zero(u32(a)) : ~0ull; }},
    {"v_ffbl_b32", {1, 1}, [](u64 a, u64, u64) { return a ? std::countr_zero(u32(a)) : ~0ull; }},
    {"v_ffbh_i32",
     {1, 1},
     [](u64 a, u64, u64) -> u64 {
       for (int i = 1; i < 32; ++i) {
         if ((a >> (31 - i) & 1) != (a >> 31 & 1)) return i;
       }
       return ~0ull;
     }},
    {"v_and_b32", {1, 1, 1}, [](u64 a, u64 b, u64) { return a & b; }},
    {"v_or_b32", {1, 1, 1}, [](u64 a, u64 b, u64) { return a | b; }},
    {"v_xor_b32", {1, 1, 1}, [](u64 a, u64 b, u64) { return a ^ b; }},
    {"v_xnor_b32", {1, 1, 1}, [](u64 a, u64 b, u64) { return ~(a ^ b); }},
    {"v_or3_b32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return a | b | c; }},
    {"v_and_or_b32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return (a & b) | c; }},
    {"v_xad_u32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return (a ^ b) + c; }},
    {"v_lshlrev_b32", {1, 1, 1}, [](u64 a, u64 b, u64) { return b << a % 32; }},
    {"v_lshrrev_b32", {1, 1, 1}, [](u64 a, u64 b, u64) { return low(b) >> a % 32; }},
    {"v_ashrrev_i32", {1, 1, 1}, [](u64 a, u64 b, u64) { return u64(as_signed(b) >> a % 32); }},
    {"v_lshlrev_b64", {2, 1, 2}, [](u64 a, u64 b, u64) { return b << a % 64; }},
    {"v_lshrrev_b64", {2, 1, 2}, [](u64 a, u64 b, u64) { return b >> a % 64; }},
    {"v_ashrrev_i64", {2, 1, 2}, [](u64 a, u64 b, u64) { return u64(i64(b) >> a % 64); }},
    {"v_lshl_or_b32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return a << b % 32 | c; }},
    {"v_bfm_b32", {1, 1, 1}, [](u64 a, u64 b, u64) { return ((1ull << a % 32) - 1) << b % 32; }},
    {"v_bfe_u32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return field(low(a), b % 32, c % 32); }},
    {"v_bfe_i32",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) -> u64 {
       const u64 width = c % 32;
       if (!width) return 0;
       const u64 bits = field(low(a), b % 32, width);
       return bits >> (width - 1) ? bits | ~0ull << width : bits;
     }},
    {"v_bfi_b32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return (a & b) | (~a & c); }},
    {"v_alignbit_b32",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) { return (a << 32 | low(b)) >> c % 32; }},
    {"v_alignbyte_b32",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) { return (a << 32 | low(b)) >> 8 * (c % 4); }},
    {"v_perm_b32",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) {
       u64 r = 0;
       for (int i = 0; i < 4; ++i) r |= select_byte(a, b, c >> 8 * i & 255) << 8 * i;
       return r;
     }},
    {"v_lerp_u8",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) {
       u64 r = 0;
       for (int i = 0; i < 32; i += 8) {
         r |= ((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) / 2 << i;
       }
       return r;
     }},
    {"v_sad_u32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return distance(a, b) + c; }},
    {"v_sad_u16",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) {
       return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16) + c;
     }},
    {"v_sad_u8", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return bytewise(a, b, distance) + c; }},
    {"v_sad_hi_u8",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) { return (bytewise(a, b, distance) << 16) + c; }},
    {"v_msad_u8",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) {
       return bytewise(a, b, [](u64 x, u64 y) { return y ? distance(x, y) : 0; }) + c;
     }},
    {"v_bcnt_u32_b32", {1, 1, 1}, [](u64 a, u64 b, u64) { return std::popcount(a) + b; }},
    {"v_add_u32", {1, 1, 1}, [](u64 a, u64 b, u64) { return a + b; }},
    {"v_sub_u32", {1, 1, 1}, [](u64 a, u64 b, u64) { return a - b; }},
    {"v_subrev_u32", {1, 1, 1}, [](u64 a, u64 b, u64) { return b - a; }},
    {"v_add_i32", {1, 1, 1}, [](u64 a, u64 b, u64) { return a + b; }},
    {"v_sub_i32", {1, 1, 1}, [](u64 a, u64 b, u64) { return a - b; }},
    {"v_add3_u32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return a + b + c; }},
    {"v_lshl_add_u32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return (a << b % 32) + c; }},
    {"v_add_lshl_u32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return (a + b) << c % 32; }},
    {"v_lshl_add_u64", {2, 2, 1, 2}, [](u64 a, u64 b, u64 c) { return (a << b % 8) + c; }},
    {"v_mul_lo_u32", {1, 1, 1}, [](u64 a, u64 b, u64) { return a * b; }},
    {"v_mul_hi_u32", {1, 1, 1}, [](u64 a, u64 b, u64) { return a * b >> 32; }},
    {"v_mul_hi_i32",
     {1, 1, 1},
     [](u64 a, u64 b, u64) { return u64(as_signed(a) * as_signed(b) >> 32); }},
    {"v_mul_u32_u24",
     {1, 1, 1},
     [](u64 a, u64 b, u64) { return (a % (1 << 24)) * (b % (1 << 24)); }},
    {"v_mul_hi_u32_u24",
     {1, 1, 1},
     [](u64 a, u64 b, u64) { return (a % (1 << 24)) * (b % (1 << 24)) >> 32; }},
    {"v_mul_i32_i24", {1, 1, 1}, [](u64 a, u64 b, u64) { return u64(low24(a) * low24(b)); }},
    {"v_mul_hi_i32_i24",
     {1, 1, 1},
     [](u64 a, u64 b, u64) { return u64(low24(a) * low24(b) >> 32); }},
    {"v_mad_u32_u24",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) { return (a % (1 << 24)) * (b % (1 << 24)) + c; }},
    {"v_mad_i32_i24",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) { return u64(low24(a) * low24(b)) + c; }},
    {"v_mad_u32_u16",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) { return (a & 0xffff) * (b & 0xffff) + c; }},
    {"v_mad_i32_i16", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return u64(half(a) * half(b)) + c; }},
    {"v_min_u32", {1, 1, 1}, [](u64 a, u64 b, u64) { return std::min(a, b); }},
    {"v_max_u32", {1, 1, 1}, [](u64 a, u64 b, u64) { return std::max(a, b); }},
    {"v_min_i32",
     {1, 1, 1},
     [](u64 a, u64 b, u64) { return u64(std::min(as_signed(a), as_signed(b))); }},
    {"v_max_i32",
     {1, 1, 1},
     [](u64 a, u64 b, u64) { return u64(std::max(as_signed(a), as_signed(b))); }},
    {"v_min3_u32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return std::min({a, b, c}); }},
    {"v_max3_u32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return std::max({a, b, c}); }},
    {"v_med3_u32", {1, 1, 1, 1}, [](u64 a, u64 b, u64 c) { return u64(middle(a, b, c)); }},
    {"v_min3_i32",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) { return u64(std::min({as_signed(a), as_signed(b), as_signed(c)})); }},
    {"v_max3_i32",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) { return u64(std::max({as_signed(a), as_signed(b), as_signed(c)})); }},
    {"v_med3_i32",
     {1, 1, 1, 1},
     [](u64 a, u64 b, u64 c) { return u64(middle(as_signed(a), as_signed(b), as_signed(c))); }},
    {"v_qsad_pk_u16_u8",
     {2, 2, 1, 2},
     [](u64 a, u64 b, u64 c) {
       u64 r = 0;
       for (int i = 0; i < 4; ++i) {
         r |= ((bytewise(a >> 8 * i, b, distance) + (c >> 16 * i)) & 0xffff) << 16 * i;
       }
       return r;
     }},
    {"v_mqsad_pk_u16_u8",
     {2, 2, 1, 2},
     [](u64 a, u64 b, u64 c) {
       const auto masked = [](u64 x, u64 y) { return y ? distance(x, y) : 0; };
       u64 r = 0;
       for (int i = 0; i < 4; ++i) {
         r |= ((bytewise(a >> 8 * i, b, masked) + (c >> 16 * i)) & 0xffff) << 16 * i;
       }
       return r;
     }},
};

// Sixteen bits: the high half of the result is cleared ("zero") or kept.
struct HalfCase {
  const char* name;
  u32 sources;
  bool keeps;
  std::function<i32(i32, i32, i32)> of;  // of zero-extended sources
};
i32 h(i32 x) { return static_cast<i16>(x); }

const HalfCase half_cases[] = {
    {"v_add_u16", 2, false, [](i32 a, i32 b, i32) { return a + b; }},
    {"v_sub_u16", 2, false, [](i32 a, i32 b, i32) { return a - b; }},
    {"v_subrev_u16", 2, false, [](i32 a, i32 b, i32) { return b - a; }},
    {"v_add_i16", 2, false, [](i32 a, i32 b, i32) { return a + b; }},
    {"v_sub_i16", 2, false, [](i32 a, i32 b, i32) { return a - b; }},
    {"v_mul_lo_u16", 2, false, [](i32 a, i32 b, i32) { return i32(u32(a) * u32(b)); }},
    {"v_lshlrev_b16", 2, false, [](i32 a, i32 b, i32) { return b << a % 16; }},
    {"v_lshrrev_b16", 2, false, [](i32 a, i32 b, i32) { return b >> a % 16; }},
    {"v_ashrrev_i16", 2, false, [](i32 a, i32 b, i32) { return h(b) >> a % 16; }},
    {"v_min_u16", 2, false, [](i32 a, i32 b, i32) { return std::min(a, b); }},
    {"v_max_u16", 2, false, [](i32 a, i32 b, i32) { return std::max(a, b); }},
    {"v_min_i16", 2, false, [](i32 a, i32 b, i32) { return std::min(h(a), h(b)); }},
    {"v_max_i16", 2, false, [](i32 a, i32 b, i32) { return std::max(h(a), h(b)); }},
    {"v_mad_u16", 3, true, [](i32 a, i32 b, i32 c) { return i32(u32(a) * u32(b)) + c; }},
    {"v_mad_i16", 3, true, [](i32 a, i32 b, i32 c) { return h(a) * h(b) + h(c); }},
    {"v_mad_legacy_u16", 3, false, [](i32 a, i32 b, i32 c) { return i32(u32(a) * u32(b)) + c; }},
    {"v_mad_legacy_i16", 3, false, [](i32 a, i32 b, i32 c) { return h(a) * h(b) + h(c); }},
    {"v_min3_u16", 3, true, [](i32 a, i32 b, i32 c) { return std::min({a, b, c}); }},
    {"v_max3_u16", 3, true, [](i32 a, i32 b, i32 c) { return std::max({a, b, c}); }},
    {"v_med3_u16", 3, true, [](i32 a, i32 b, i32 c) { return i32(middle(a, b, c)); }},
    {"v_min3_i16", 3, true, [](i32 a, i32 b, i32 c) { return std::min({h(a), h(b), h(c)}); }},
    {"v_max3_i16", 3, true, [](i32 a, i32 b, i32 c) { return std::max({h(a), h(b), h(c)}); }},
    {"v_med3_i16", 3, true, [](i32 a, i32 b, i32 c) { return i32(middle(h(a), h(b), h(c))); }},
};

std::string registers(u32 first, u32 words) {
  if (words < 2) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + words - 1) + "]";
}

void check(const Case& test, u64 exec) {
  Machine m;
  m.wave().set_exec(exec);
  std::string text = std::string(test.name) + " " + registers(8, test.words[0]);
  for (u32 k = 1; k < 4 && test.words[k]; ++k) text += ", " + registers(2 * k, test.words[k]);
  for (u32 round = 0; round < 8; ++round) {
    for (u32 r = 2; r < 10; ++r) {
      for (u32 lane = 0; lane < 64; ++lane) m.v(r)[lane] = sample(lane, 16 * round + r);
    }
    std::vector<u64> expected;
    for (u32 lane = 0; lane < 64; ++lane) {
      u64 s[3] = {};
      for (u32 k = 0; k < 3; ++k) {
        s[k] = test.words[k + 1] == 2 ? m.v64(2 * k + 2, lane) : m.v(2 * k + 2)[lane];
      }
      const u64 old = test.words[0] == 2 ? m.v64(8, lane) : m.v(8)[lane];
      expected.push_back(exec >> lane & 1 ? test.of(s[0], s[1], s[2]) : old);
    }
    m.run(text);
    for (u32 lane = 0; lane < 64; ++lane) {
      const u64 mask = test.words[0] == 2 ? ~u64{0} : 0xffffffff;
      const u64 got = test.words[0] == 2 ? m.v64(8, lane) : m.v(8)[lane];
      ASSERT_EQ(got, expected[lane] & mask) << text << " lane " << lane;
    }
  }
}

TEST(VectorInteger, All) {
  for (const Case& test : cases) {
    for (const u64 exec : {~u64{0}, u64{0x8000f0f012345671}}) check(test, exec);
  }
}

TEST(VectorInteger, SixteenBits) {
  for (const HalfCase& test : half_cases) {
    Machine m;
    std::string text = std::string(test.name) + " v8, v2, v4";
    if (test.sources == 3) text += ", v6";
    for (u32 lane = 0; lane < 64; ++lane) {
      for (u32 r = 2; r < 10; ++r) m.v(r)[lane] = sample(lane, r);
    }
    Row old;
    std::memcpy(old.lane, m.v(8), sizeof(old));
    m.run(text);
    for (u32 lane = 0; lane < 64; ++lane) {
      const i32 r = test.of(m.v(2)[lane] & 0xffff, m.v(4)[lane] & 0xffff, m.v(6)[lane] & 0xffff);
      const u32 high = test.keeps ? old.lane[lane] & 0xffff0000 : 0;
      ASSERT_EQ(m.v(8)[lane], (u32(r) & 0xffff) | high) << text << " lane " << lane;
    }
  }
}

TEST(VectorInteger, Saturates) {
  Machine m;
  m.v(1)[0] = 0xfffffff0;
  m.v(2)[0] = 0x20;
  m.v(1)[1] = 0x7ffffff0;
  m.v(2)[1] = 0x20;
  m.run("v_add_u32_e64 v3, v1, v2 clamp");
  EXPECT_EQ(m.v(3)[0], 0xffffffffu);
  m.run("v_sub_u32_e64 v3, v2, v1 clamp");
  EXPECT_EQ(m.v(3)[0], 0u);
  m.run("v_add_i32 v3, v1, v2 clamp");
  EXPECT_EQ(m.v(3)[1], 0x7fffffffu);
  m.v(1)[0] = 0x7ff0;
  m.run("v_add_i16 v3, v1, v2 clamp");
  EXPECT_EQ(m.v(3)[0], 0x7fffu);
  m.run("v_sub_u16_e64 v3, v2, v1 clamp");
  EXPECT_EQ(m.v(3)[0], 0u);
}

TEST(VectorInteger, AnyFunctionOfThreeBits) {
  Machine m(Target::gfx950);
  for (u32 lane = 0; lane < 64; ++lane) {
    for (u32 r = 1; r < 4; ++r) m.v(r)[lane] = sample(lane, r);
  }
  for (u32 table = 0; table < 256; table += 5) {
    const std::string modifier = " bitop3:" + std::to_string(table);
    m.run("v_bitop3_b32 v0, v1, v2, v3" + modifier);
    for (u32 lane = 0; lane < 64; ++lane) m.v(4)[lane] = 0xabcd0000;
    m.run("v_bitop3_b16 v4, v1, v2, v3" + modifier);
    for (u32 lane = 0; lane < 64; ++lane) {
      u32 expected = 0;
      for (u32 bit = 0; bit < 32; ++bit) {
        const u32 index = (m.v(1)[lane] >> bit & 1) << 2 | (m.v(2)[lane] >> bit & 1) << 1 |
                          (m.v(3)[lane] >> bit & 1);
        expected |= (table >> index & 1) << bit;
      }
      ASSERT_EQ(m.v(0)[lane], expected);
      ASSERT_EQ(m.v(4)[lane], (expected & 0xffff) | 0xabcd0000);
    }
  }
}

TEST(VectorInteger, FourSumsOfDifferences) {
  Machine m;
  m.set_v64(2, 0, 0x0807060504030201);
  m.v(4)[0] = 0x01010001;  // the byte 0 does not count
  for (u32 k = 0; k < 4; ++k) m.v(8 + k)[0] = 100;
  m.run("v_mqsad_u32_u8 v[12:15], v[2:3], v4, v[8:11]");
  for (u32 k = 0; k < 4; ++k) EXPECT_EQ(m.v(12 + k)[0], 100 + k + (2 + k) + (3 + k));
}

TEST(VectorInteger, Accumulators) {
  Machine m;
  for (u32 lane = 0; lane < 64; ++lane) m.v(1)[lane] = sample(lane, 3);
  m.run("v_accvgpr_write_b32 a5, v1");
  m.run("v_accvgpr_mov_b32 a6, a5");
  m.run("v_accvgpr_read_b32 v2, a6");
  EXPECT_EQ(std::memcmp(m.v(1), m.v(2), sizeof(Row)), 0);
}

}  // namespace
}  // namespace instinct
