// Packed and dot instructions on a wave.
#include <tuple>

#include "floats.h"
#include "machine.h"

namespace instinct {
namespace {

TEST(VectorPacked, PackedHalves) {
  Machine m(Target::gfx950);
  m.v(1)[0] = to_half(3) << 16 | to_half(-5);
  m.v(2)[0] = to_half(2) << 16 | to_half(4);
  const std::pair<const char*, std::pair<float, float>> cases[] = {
      {"v_pk_add_f16 v3, v1, v2", {5, -1}},
      {"v_pk_mul_f16 v3, v1, v2", {6, -20}},
      {"v_pk_min_f16 v3, v1, v2", {2, -5}},
      {"v_pk_max_f16 v3, v1, v2", {3, 4}},
      {"v_pk_minimum3_f16 v3, v1, v2, 1.0 op_sel_hi:[1,1,0]", {1, -5}},
      {"v_pk_maximum3_f16 v3, v1, v2, v1", {3, 4}}};
  for (const auto& [text, expected] : cases) {
    m.run(text);
    EXPECT_EQ(of_half(m.v(3)[0] >> 16), expected.first) << text;
    EXPECT_EQ(of_half(m.v(3)[0] & 0xffff), expected.second) << text;
  }
  m.v(3)[0] = to_half(1) << 16 | to_half(1);
  m.run("v_pk_fmac_f16 v3, v1, v2");
  EXPECT_EQ(m.v(3)[0], to_half(7) << 16 | to_half(-19));
  m.v(4)[0] = bits(3.0f);
  m.v(5)[0] = bits(1.0f);
  m.v(6)[0] = bits(2.0f);
  m.run("v_minimum3_f32 v7, v4, v5, v6");
  EXPECT_EQ(f32(m.v(7)[0]), 1.0f);
  m.run("v_maximum3_f32 v7, v4, v5, v6");
  EXPECT_EQ(f32(m.v(7)[0]), 3.0f);
}

TEST(VectorPacked, PackedIntegers) {
  Machine m;
  m.v(1)[0] = 0xfffb0003;  // -5, 3
  m.v(2)[0] = 0x00020004;
  const std::pair<const char*, u32> cases[] = {
      {"v_pk_add_i16 v3, v1, v2", 0xfffd0007},     {"v_pk_add_u16 v3, v1, v2", 0xfffd0007},
      {"v_pk_sub_i16 v3, v1, v2", 0xfff9ffff},     {"v_pk_sub_u16 v3, v1, v2", 0xfff9ffff},
      {"v_pk_mul_lo_u16 v3, v1, v2", 0xfff6000c},  {"v_pk_min_i16 v3, v1, v2", 0xfffb0003},
      {"v_pk_min_u16 v3, v1, v2", 0x00020003},     {"v_pk_max_i16 v3, v1, v2", 0x00020004},
      {"v_pk_max_u16 v3, v1, v2", 0xfffb0004},     {"v_pk_lshlrev_b16 v3, v2, v1", 0xffec0030},
      {"v_pk_lshrrev_b16 v3, v2, v1", 0x3ffe0000}, {"v_pk_ashrrev_i16 v3, v2, v1", 0xfffe0000},
      {"v_pk_mad_i16 v3, v1, v2, v2", 0xfff80010}, {"v_pk_mad_u16 v3, v1, v2, v2", 0xfff80010}};
  for (const auto& [text, expected] : cases) {
    m.run(text);
    EXPECT_EQ(m.v(3)[0], expected) << text;
  }
}

TEST(VectorPacked, PackedWords) {
  Machine m;
  for (u32 r = 0; r < 6; ++r) m.v(2 + r)[5] = bits(float(r + 1));  // 1 2, 3 4, 5 6
  m.run("v_pk_add_f32 v[8:9], v[2:3], v[4:5]");
  EXPECT_EQ(f32(m.v(8)[5]), 4);
  EXPECT_EQ(f32(m.v(9)[5]), 6);
  m.run("v_pk_mul_f32 v[8:9], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1] neg_hi:[1,0]");
  EXPECT_EQ(f32(m.v(8)[5]), 6);
  EXPECT_EQ(f32(m.v(9)[5]), -4);
  m.run("v_pk_fma_f32 v[8:9], v[2:3], v[4:5], v[6:7]");
  EXPECT_EQ(f32(m.v(8)[5]), 8);
  EXPECT_EQ(f32(m.v(9)[5]), 14);
  m.run("v_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[1,0]");
  EXPECT_EQ(f32(m.v(8)[5]), 2);
  EXPECT_EQ(f32(m.v(9)[5]), 3);
}

TEST(VectorPacked, DotProducts) {
  Machine m(Target::gfx950);
  m.v(1)[0] = to_half(3) << 16 | to_half(5);
  m.v(2)[0] = to_half(7) << 16 | to_half(11);
  m.v(3)[0] = bits(0.5f);
  m.run("v_dot2_f32_f16 v4, v1, v2, v3");
  EXPECT_EQ(f32(m.v(4)[0]), 76.5f);
  m.run("v_dot2c_f32_f16_e32 v3, v1, v2");
  EXPECT_EQ(f32(m.v(3)[0]), 76.5f);
  m.v(1)[0] = 0x404040a0;  // bf16 3, 5
  m.v(2)[0] = 0x40e04130;  // 7, 11
  m.v(3)[0] = bits(0.5f);
  m.run("v_dot2_f32_bf16 v4, v1, v2, v3");
  EXPECT_EQ(f32(m.v(4)[0]), 76.5f);
  m.run("v_dot2c_f32_bf16_e32 v3, v1, v2");
  EXPECT_EQ(f32(m.v(3)[0]), 76.5f);
  m.v(1)[0] = 0xff02fe03;
  m.v(2)[0] = 0x01040506;
  const auto sum = [&](u32 width, bool is_signed) {
    i64 total = 100;
    for (u32 i = 0; i < 32; i += width) {
      i64 x = m.v(1)[0] >> i & ((1u << width) - 1), y = m.v(2)[0] >> i & ((1u << width) - 1);
      if (is_signed && x >> (width - 1)) x -= i64{1} << width;
      if (is_signed && y >> (width - 1)) y -= i64{1} << width;
      total += x * y;
    }
    return u32(total);
  };
  for (const auto& [name, width, is_signed] : {std::tuple{"v_dot2_i32_i16", 16u, true},
                                               {"v_dot2_u32_u16", 16u, false},
                                               {"v_dot4_i32_i8", 8u, true},
                                               {"v_dot4_u32_u8", 8u, false},
                                               {"v_dot8_i32_i4", 4u, true},
                                               {"v_dot8_u32_u4", 4u, false}}) {
    m.run(std::string(name) + " v4, v1, v2, 0x64");
    EXPECT_EQ(m.v(4)[0], sum(width, is_signed)) << name;
  }
  for (const auto& [name, width] :
       {std::pair{"v_dot2c_i32_i16", 16u}, {"v_dot4c_i32_i8", 8u}, {"v_dot8c_i32_i4", 4u}}) {
    m.v(4)[0] = 100;
    m.run(std::string(name) + " v4, v1, v2");
    EXPECT_EQ(m.v(4)[0], sum(width, true)) << name;
  }
}

}  // namespace
}  // namespace instinct
