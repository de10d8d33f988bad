// Conversions of 8-, 6- and 4-bit floats on a wave: which byte or half is read and written, and
// which format belongs to a mnemonic. The formats themselves are tested with semantics/.
#include "floats.h"
#include "machine.h"

namespace instinct {
namespace {

// 1, 2, -1/2 and 3/2, exact in all of them.
const float numbers[] = {1.0f, 2.0f, -0.5f, 1.5f};
const u32 f16_codes[] = {0x3c00, 0x4000, 0xb800, 0x3e00};
const u32 bf16_codes[] = {0x3f80, 0x4000, 0xbf00, 0x3fc0};
const u32 fp8_format[] = {0x38, 0x40, 0xb0, 0x3c}, bf8_format[] = {0x3c, 0x40, 0xb8, 0x3e};
const u32 fp8_fnuz_codes[] = {0x40, 0x48, 0xb8, 0x44}, bf8_fnuz_codes[] = {0x40, 0x44, 0xbc, 0x42};
const u32 fp6_codes[] = {0x08, 0x10, 0x24, 0x0c}, bf6_codes[] = {0x0c, 0x10, 0x28, 0x0e};
const u32 fp4_codes[] = {2, 4, 9, 3};

u32 all_four(const u32* codes, u32 width = 8) {
  u32 word = 0;
  for (u32 i = 0; i < 4; ++i) word |= codes[i] << width * i;
  return word;
}

struct Eight {
  const char* name;
  Target target;
  const u32* codes;
};
const Eight eights[] = {{"fp8", Target::gfx942, fp8_fnuz_codes},
                        {"bf8", Target::gfx942, bf8_fnuz_codes},
                        {"fp8", Target::gfx950, fp8_format},
                        {"bf8", Target::gfx950, bf8_format}};

TEST(Formats, EightBits) {
  for (const Eight& e : eights) {
    const std::string n = e.name;
    Machine m(e.target);
    m.v(1)[5] = all_four(e.codes);
    for (u32 i = 0; i < 4; ++i) {
      m.run("v_cvt_f32_" + n + "_sdwa v2, v1 src0_sel:BYTE_" + std::to_string(i));
      EXPECT_EQ(f32(m.v(2)[5]), numbers[i]) << n;
    }
    m.run("v_cvt_pk_f32_" + n + "_sdwa v[2:3], v1 src0_sel:WORD_1");
    EXPECT_EQ(f32(m.v(2)[5]), numbers[2]);
    EXPECT_EQ(f32(m.v(3)[5]), numbers[3]);
    m.run("v_cvt_pk_f32_" + n + "_e32 v[2:3], v1");
    EXPECT_EQ(f32(m.v(3)[5]), numbers[1]);
    for (u32 i = 0; i < 4; ++i) m.v(4 + i)[5] = bits(numbers[i]);
    m.v(8)[5] = 0;
    m.run("v_cvt_pk_" + n + "_f32 v8, v4, v5");
    m.run("v_cvt_pk_" + n + "_f32 v8, v6, v7 op_sel:[0,0,1]");
    EXPECT_EQ(m.v(8)[5], all_four(e.codes)) << n;
    m.v(8)[5] = 0x11223344;
    m.run("v_cvt_sr_" + n + "_f32 v8, v4, 0 op_sel:[0,0,0,1]");  // byte 2
    EXPECT_EQ(m.v(8)[5], 0x11003344u | e.codes[0] << 16) << n;
  }
}

// The scale is 2; f32, f16 and bf16 on the wide side.
TEST(Formats, ScaledEightBits) {
  for (const Eight& e : {eights[2], eights[3]}) {
    const std::string n = e.name;
    Machine m(Target::gfx950);
    m.v(1)[0] = all_four(e.codes);
    m.v(9)[0] = bits(2.0f);
    m.run("v_cvt_scalef32_f32_" + n + " v2, v1, v9 op_sel:[0,1,0]");  // byte 2
    EXPECT_EQ(f32(m.v(2)[0]), -1.0f);
    m.v(2)[0] = 0x12345678;
    m.run("v_cvt_scalef32_f16_" + n + " v2, v1, v9 op_sel:[0,0,1]");
    EXPECT_EQ(m.v(2)[0], 0x40005678u);
    m.run("v_cvt_scalef32_pk_f32_" + n + " v[2:3], v1, v9 op_sel:[1,0,0]");
    EXPECT_EQ(f32(m.v(2)[0]), -1.0f);
    EXPECT_EQ(f32(m.v(3)[0]), 3.0f);
    m.run("v_cvt_scalef32_pk_f16_" + n + " v2, v1, v9");
    EXPECT_EQ(m.v(2)[0], 0x44004000u);
    m.run("v_cvt_scalef32_pk_bf16_" + n + " v2, v1, v9");
    EXPECT_EQ(m.v(2)[0], 0x40804000u);
    m.v(4)[0] = bits(2.0f);
    m.v(5)[0] = bits(4.0f);
    m.v(6)[0] = 0x44004000;
    m.v(7)[0] = 0x40804000;
    const u32 pair = e.codes[0] | e.codes[1] << 8;
    for (const char* sources :
         {"_f32 v8, v4, v5, v9 op_sel:[0,0,0,1]", "_f16 v8, v6, v9 op_sel:[0,0,1]",
          "_bf16 v8, v7, v9 op_sel:[0,0,1]"}) {
      m.v(8)[0] = 0x12345678;
      m.run("v_cvt_scalef32_pk_" + n + sources);
      EXPECT_EQ(m.v(8)[0], pair << 16 | 0x5678) << n << sources;
    }
    for (const char* sources :
         {"_f32 v8, v4, 0, v9", "_f16 v8, v6, 0, v9", "_bf16 v8, v7, 0, v9"}) {
      m.v(8)[0] = 0x12345678;
      m.run("v_cvt_scalef32_sr_" + n + sources + " op_sel:[0,0,1,0]");  // byte 1
      EXPECT_EQ(m.v(8)[0], 0x12340078u | e.codes[0] << 8) << n << sources;
    }
  }
}

TEST(Formats, FourBits) {
  Machine m(Target::gfx950);
  m.v(1)[0] = all_four(fp4_codes, 4) << 8;  // bytes 1 and 2
  m.v(9)[0] = bits(2.0f);
  m.run("v_cvt_scalef32_pk_f32_fp4 v[2:3], v1, v9 op_sel:[0,1,0]");
  EXPECT_EQ(f32(m.v(2)[0]), -1.0f);
  EXPECT_EQ(f32(m.v(3)[0]), 3.0f);
  m.run("v_cvt_scalef32_pk_f16_fp4 v2, v1, v9 op_sel:[1,0,0]");
  EXPECT_EQ(m.v(2)[0], 0x44004000u);
  m.run("v_cvt_scalef32_pk_bf16_fp4 v2, v1, v9 op_sel:[1,0,0]");
  EXPECT_EQ(m.v(2)[0], 0x40804000u);
  m.v(4)[0] = bits(2.0f);
  m.v(5)[0] = bits(4.0f);
  m.v(6)[0] = 0x44004000;
  m.v(7)[0] = 0x40804000;
  for (const char* text : {"v_cvt_scalef32_pk_fp4_f32 v8, v4, v5, v9 op_sel:[0,0,1,1]",
                           "v_cvt_scalef32_pk_fp4_f16 v8, v6, v9 op_sel:[0,0,1,1]",
                           "v_cvt_scalef32_pk_fp4_bf16 v8, v7, v9 op_sel:[0,0,1,1]",
                           "v_cvt_scalef32_sr_pk_fp4_f32 v8, v[4:5], 0, v9 op_sel:[0,0,1,1]",
                           "v_cvt_scalef32_sr_pk_fp4_f16 v8, v6, 0, v9 op_sel:[0,0,1,1]",
                           "v_cvt_scalef32_sr_pk_fp4_bf16 v8, v7, 0, v9 op_sel:[0,0,1,1]"}) {
    m.v(8)[0] = 0x12345678;
    m.run(text);
    EXPECT_EQ(m.v(8)[0], 0x42345678u) << text;
  }
}

// Element i of 32 in registers from `first` on: six bits, halves or words.
u32 six(Machine& m, u32 first, u32 i) {
  u64 pair = m.v(first + 6 * i / 32)[0];
  if (6 * i / 32 < 5) pair |= u64{m.v(first + 6 * i / 32 + 1)[0]} << 32;
  return static_cast<u32>(pair >> 6 * i % 32 & 63);
}

TEST(Formats, SixBits) {
  const std::pair<const char*, const u32*> formats[] = {{"fp6", fp6_codes}, {"bf6", bf6_codes}};
  for (const auto& [name, codes] : formats) {
    Machine m(Target::gfx950);
    const std::string n = name;
    m.v(90)[0] = bits(1.0f);
    for (u32 i = 0; i < 32; ++i) {
      m.v(10 + i)[0] = bits(numbers[i % 4]);
      u32& half = m.v(50 + i / 2)[0];
      half = i % 2 ? half | f16_codes[i % 4] << 16 : f16_codes[i % 4];
      u32& bhalf = m.v(70 + i / 2)[0];
      bhalf = i % 2 ? bhalf | bf16_codes[i % 4] << 16 : bf16_codes[i % 4];
    }
    for (const std::string& text :
         {"v_cvt_scalef32_pk32_" + n + "_f16 v[0:5], v[50:65], v90",
          "v_cvt_scalef32_pk32_" + n + "_bf16 v[0:5], v[70:85], v90",
          "v_cvt_scalef32_sr_pk32_" + n + "_f32 v[0:5], v[10:41], 0, v90",
          "v_cvt_scalef32_sr_pk32_" + n + "_f16 v[0:5], v[50:65], 0, v90",
          "v_cvt_scalef32_sr_pk32_" + n + "_bf16 v[0:5], v[70:85], 0, v90"}) {
      for (u32 r = 0; r < 6; ++r) m.v(r)[0] = 0;
      m.run(text);
      for (u32 i = 0; i < 32; ++i)
        ASSERT_EQ(six(m, 0, i), codes[i % 4]) << text << " element " << i;
    }
    m.run("v_cvt_scalef32_pk32_f32_" + n + " v[100:131], v[0:5], v90");
    m.run("v_cvt_scalef32_pk32_f16_" + n + " v[140:155], v[0:5], v90");
    m.run("v_cvt_scalef32_pk32_bf16_" + n + " v[160:175], v[0:5], v90");
    for (u32 i = 0; i < 32; ++i) {
      ASSERT_EQ(f32(m.v(100 + i)[0]), numbers[i % 4]);
      ASSERT_EQ(m.v(140 + i / 2)[0] >> 16 * (i % 2) & 0xffff, f16_codes[i % 4]);
      ASSERT_EQ(m.v(160 + i / 2)[0] >> 16 * (i % 2) & 0xffff, bf16_codes[i % 4]);
    }
  }
}

// Nobody says in which order.
TEST(Formats, TwoSourcesAreRefused) {
  Machine m(Target::gfx950);
  for (const char* name : {"v_cvt_scalef32_2xpk16_fp6_f32", "v_cvt_scalef32_2xpk16_bf6_f32"}) {
    EXPECT_EQ(m.fault({std::string(name) + " v[0:5], v[10:25], v[26:41], v90"}),
              Fault::unsupported);
  }
}

TEST(Formats, StochasticHalves) {
  Machine m(Target::gfx950);
  m.v(1)[0] = bits(1.5f);
  m.v(2)[0] = 0x12345678;
  m.run("v_cvt_sr_f16_f32 v2, v1, 0 op_sel:[0,0,1]");
  EXPECT_EQ(m.v(2)[0], 0x3e005678u);
  m.run("v_cvt_sr_bf16_f32 v2, v1, 0");
  EXPECT_EQ(m.v(2)[0], 0x3e003fc0u);
}

}  // namespace
}  // namespace instinct
