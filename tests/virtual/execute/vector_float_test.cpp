// Float instructions on a wave: modifiers, halves. What they compute is tested with
// semantics/, per function; here each mnemonic meets the function that belongs to it, by values in
// which all of them differ.
#include <cmath>
#include <functional>

#include "floats.h"
#include "machine.h"

namespace instinct {
namespace {

using F = std::function<double(double, double, double)>;
struct Case {
  const char* name;
  u32 sources;
  F of;
};

double larger(double a, double b) { return a > b ? a : b; }
double smaller(double a, double b) { return a < b ? a : b; }
double median(double a, double b, double c) {
  return larger(smaller(a, b), smaller(larger(a, b), c));
}
double fraction(double x) { return x - std::floor(x); }

// Results of these inputs are exact in f32 and f16 but for the transcendental ones.
const Case any[] = {
    {"v_add_", 2, [](double a, double b, double) { return a + b; }},
    {"v_mul_", 2, [](double a, double b, double) { return a * b; }},
    {"v_max_", 2, [](double a, double b, double) { return larger(a, b); }},
    {"v_min_", 2, [](double a, double b, double) { return smaller(a, b); }},
    {"v_fma_", 3, [](double a, double b, double c) { return a * b + c; }},
    {"v_floor_", 1, [](double a, double, double) { return std::floor(a); }},
    {"v_ceil_", 1, [](double a, double, double) { return std::ceil(a); }},
    {"v_trunc_", 1, [](double a, double, double) { return std::trunc(a); }},
    {"v_rndne_", 1, [](double a, double, double) { return std::nearbyint(a); }},
    {"v_fract_", 1, [](double a, double, double) { return fraction(a); }},
    {"v_sqrt_", 1, [](double a, double, double) { return std::sqrt(a); }},
    {"v_rcp_", 1, [](double a, double, double) { return 1 / a; }},
    {"v_rsq_", 1, [](double a, double, double) { return 1 / std::sqrt(a); }},
};
const Case not_double[] = {
    {"v_sub_", 2, [](double a, double b, double) { return a - b; }},
    {"v_subrev_", 2, [](double a, double b, double) { return b - a; }},
    {"v_max3_", 3, [](double a, double b, double c) { return larger(larger(a, b), c); }},
    {"v_min3_", 3, [](double a, double b, double c) { return smaller(smaller(a, b), c); }},
    {"v_med3_", 3, [](double a, double b, double c) { return median(a, b, c); }},
    {"v_exp_", 1, [](double a, double, double) { return std::exp2(a); }},
    {"v_log_", 1, [](double a, double, double) { return std::log2(a); }},
    {"v_sin_", 1, [](double a, double, double) { return std::sin(2 * M_PI * a); }},
    {"v_cos_", 1, [](double a, double, double) { return std::cos(2 * M_PI * a); }},
};
const Case single_only[] = {
    {"v_mul_legacy_f32", 2, [](double a, double b, double) { return a * b; }},
    {"v_rcp_iflag_f32", 1, [](double a, double, double) { return 1 / a; }},
    {"v_exp_legacy_f32", 1, [](double a, double, double) { return std::exp2(a); }},
    {"v_log_legacy_f32", 1, [](double a, double, double) { return std::log2(a); }},
};
const Case half_only[] = {
    {"v_fma_legacy_f16", 3, [](double a, double b, double c) { return a * b + c; }},
    {"v_mad_f16", 3, [](double a, double b, double c) { return a * b + c; }},
    {"v_mad_legacy_f16", 3, [](double a, double b, double c) { return a * b + c; }},
};

const float values[] = {0.25f, 0.5f, 1.0f, 1.75f, 2.5f, 3.0f, 4.25f, 6.0f};

std::string text_of(const std::string& name, u32 sources, u32 words) {
  std::string text = name;
  for (u32 k = 0; k <= sources; ++k) {
    const u32 r = k ? 2 * k : 8;
    text += (k ? ", " : " ") + (words == 2
                                    ? "v[" + std::to_string(r) + ":" + std::to_string(r + 1) + "]"
                                    : "v" + std::to_string(r));
  }
  return text;
}

// Inputs of lane i: three of the values.
double input(u32 lane, u32 k) { return values[(lane * (2 * k + 1) + (k ? lane / 8 : 0)) % 8]; }

void check_f32(const std::string& name, const Case& test) {
  Machine m;
  for (u32 lane = 0; lane < 64; ++lane) {
    for (u32 k = 0; k < 3; ++k) m.v(2 + 2 * k)[lane] = bits(float(input(lane, k)));
  }
  m.run(text_of(name, test.sources, 1));
  for (u32 lane = 0; lane < 64; ++lane) {
    const double expected = test.of(input(lane, 0), input(lane, 1), input(lane, 2));
    ASSERT_NEAR(f32(m.v(8)[lane]), expected, 2e-7 * std::fabs(expected) + 2e-7) << name;
  }
}

void check_f64(const std::string& name, const Case& test) {
  Machine m;
  for (u32 lane = 0; lane < 64; ++lane) {
    for (u32 k = 0; k < 3; ++k) m.set_v64(2 + 2 * k, lane, bits(input(lane, k)));
  }
  m.run(text_of(name, test.sources, 2));
  for (u32 lane = 0; lane < 64; ++lane) {
    const double expected = test.of(input(lane, 0), input(lane, 1), input(lane, 2));
    ASSERT_NEAR(std::bit_cast<double>(m.v64(8, lane)), expected, 1e-15 * std::fabs(expected))
        << name;
  }
}

void check_f16(const std::string& name, const Case& test) {
  Machine m;
  for (u32 lane = 0; lane < 64; ++lane) {
    for (u32 k = 0; k < 3; ++k) m.v(2 + 2 * k)[lane] = to_half(float(input(lane, k))) | 0x7e000000;
  }
  m.run(text_of(name, test.sources, 1));
  for (u32 lane = 0; lane < 64; ++lane) {
    const double expected = test.of(input(lane, 0), input(lane, 1), input(lane, 2));
    ASSERT_NEAR(of_half(m.v(8)[lane] & 0xffff), expected, 5e-4 * std::fabs(expected) + 5e-4)
        << name;
  }
}

TEST(VectorFloat, Arithmetic) {
  for (const Case& test : any) {
    check_f32(std::string(test.name) + "f32", test);
    check_f64(std::string(test.name) + "f64", test);
    check_f16(std::string(test.name) + "f16", test);
  }
  for (const Case& test : not_double) {
    check_f32(std::string(test.name) + "f32", test);
    check_f16(std::string(test.name) + "f16", test);
  }
  for (const Case& test : single_only) check_f32(test.name, test);
  for (const Case& test : half_only) check_f16(test.name, test);
}

TEST(VectorFloat, Accumulates) {
  Machine m;
  m.v(1)[3] = bits(3.0f);
  m.v(2)[3] = bits(4.0f);
  m.v(3)[3] = bits(0.5f);
  m.run("v_fmac_f32_e32 v3, v1, v2");
  EXPECT_EQ(f32(m.v(3)[3]), 12.5f);
  m.run("v_fmamk_f32 v4, v1, 0x41200000, v2");
  EXPECT_EQ(f32(m.v(4)[3]), 34.0f);
  m.run("v_fmaak_f32 v4, v1, v2, 0x41200000");
  EXPECT_EQ(f32(m.v(4)[3]), 22.0f);
  for (const auto& [r, x] : {std::pair{4, 3.0}, {6, 4.0}, {8, 0.5}}) m.set_v64(r, 3, bits(x));
  m.run("v_fmac_f64_e32 v[8:9], v[4:5], v[6:7]");
  EXPECT_EQ(std::bit_cast<double>(m.v64(8, 3)), 12.5);
  m.v(1)[0] = to_half(3);
  m.v(2)[0] = to_half(4);
  m.v(3)[0] = to_half(0.5f);
  m.run("v_mac_f16_e32 v3, v1, v2");
  EXPECT_EQ(of_half(m.v(3)[0]), 12.5f);
  m.run("v_madak_f16 v4, v1, v2, 0x4900");
  EXPECT_EQ(of_half(m.v(4)[0]), 22.0f);
  m.run("v_madmk_f16 v4, v1, 0x4900, v2");
  EXPECT_EQ(of_half(m.v(4)[0]), 34.0f);
}

TEST(VectorFloat, ExponentsAndDivision) {
  Machine m;
  m.v(1)[0] = bits(12.0f);
  m.v(2)[0] = static_cast<u32>(-2);
  m.run("v_ldexp_f32 v3, v1, v2");
  EXPECT_EQ(f32(m.v(3)[0]), 3.0f);
  m.run("v_frexp_mant_f32_e32 v3, v1");
  EXPECT_EQ(f32(m.v(3)[0]), 0.75f);
  m.run("v_frexp_exp_i32_f32_e32 v3, v1");
  EXPECT_EQ(m.v(3)[0], 4u);
  m.set_v64(4, 0, bits(12.0));
  m.run("v_ldexp_f64 v[6:7], v[4:5], v2");
  EXPECT_EQ(std::bit_cast<double>(m.v64(6, 0)), 3.0);
  m.run("v_frexp_mant_f64_e32 v[6:7], v[4:5]");
  EXPECT_EQ(std::bit_cast<double>(m.v64(6, 0)), 0.75);
  m.run("v_frexp_exp_i32_f64_e32 v6, v[4:5]");
  EXPECT_EQ(m.v(6)[0], 4u);
  m.v(1)[0] = to_half(12);
  m.run("v_ldexp_f16_e32 v3, v1, v2");
  EXPECT_EQ(of_half(m.v(3)[0]), 3.0f);
  m.run("v_frexp_mant_f16_e32 v3, v1");
  EXPECT_EQ(of_half(m.v(3)[0]), 0.75f);
  m.run("v_frexp_exp_i16_f16_e32 v3, v1");
  EXPECT_EQ(m.v(3)[0], 4u);
}

// The steps that LLVM makes of a division give the nearest quotient.
TEST(VectorFloat, Divides) {
  Machine m;
  const float numerators[] = {1, 3e38f, 1e-38f, 7, -2e-40f},
              denominators[] = {3, 0.5f, 7e37f, 1e-38f};
  u32 lane = 0;
  for (const float n : numerators) {
    for (const float d : denominators) {
      m.v(1)[lane] = bits(n);
      m.v(2)[lane++] = bits(d);
    }
  }
  for (const char* step :
       {"v_div_scale_f32 v3, s[0:1], v2, v2, v1", "v_div_scale_f32 v4, vcc, v1, v2, v1",
        "v_rcp_f32_e32 v5, v3", "v_fma_f32 v6, -v3, v5, 1.0", "v_fma_f32 v5, v6, v5, v5",
        "v_mul_f32_e32 v6, v4, v5", "v_fma_f32 v7, -v3, v6, v4", "v_fma_f32 v6, v7, v5, v6",
        "v_fma_f32 v7, -v3, v6, v4", "v_div_fmas_f32 v6, v7, v5, v6",
        "v_div_fixup_f32 v8, v6, v2, v1"}) {
    m.run(step);
  }
  for (u32 i = 0; i < lane; ++i) {
    ASSERT_EQ(f32(m.v(8)[i]), f32(m.v(1)[i]) / f32(m.v(2)[i]))
        << f32(m.v(1)[i]) << " / " << f32(m.v(2)[i]);
  }
}

TEST(VectorFloat, DividesDoubles) {
  Machine m;
  m.set_v64(2, 0, bits(1.0));
  m.set_v64(4, 0, bits(3.0));
  for (const char* step :
       {"v_div_scale_f64 v[6:7], s[0:1], v[4:5], v[4:5], v[2:3]", "v_rcp_f64_e32 v[8:9], v[6:7]",
        "v_fma_f64 v[10:11], -v[6:7], v[8:9], 1.0", "v_fmac_f64_e32 v[8:9], v[8:9], v[10:11]",
        "v_div_scale_f64 v[12:13], vcc, v[2:3], v[4:5], v[2:3]",
        "v_mul_f64 v[14:15], v[12:13], v[8:9]", "v_fma_f64 v[10:11], -v[6:7], v[14:15], v[12:13]",
        "v_div_fmas_f64 v[16:17], v[10:11], v[8:9], v[14:15]",
        "v_div_fixup_f64 v[16:17], v[16:17], v[4:5], v[2:3]"}) {
    m.run(step);
  }
  EXPECT_EQ(std::bit_cast<double>(m.v64(16, 0)), 1.0 / 3.0);
}

TEST(VectorFloat, HalfDivisionFixup) {
  Machine m;
  m.v(1)[0] = to_half(2);
  m.v(2)[0] = to_half(0);
  m.v(3)[0] = to_half(-1);
  for (const char* name : {"v_div_fixup_f16", "v_div_fixup_legacy_f16"}) {
    m.run(std::string(name) + " v4, v1, v2, v3");
    EXPECT_EQ(m.v(4)[0] & 0xffff, 0xfc00u);  // -1 / 0
  }
}

// "CDNA3 ISA", VOP3A: abs before neg, omod, clamp to [0, 1].
TEST(VectorFloat, Modifiers) {
  Machine m;
  m.v(1)[0] = bits(-3.0f);
  m.v(2)[0] = bits(0.25f);
  m.run("v_add_f32_e64 v3, |v1|, -v2");
  EXPECT_EQ(f32(m.v(3)[0]), 2.75f);
  m.run("v_mul_f32_e64 v3, -|v1|, v2 mul:4");
  EXPECT_EQ(f32(m.v(3)[0]), -3.0f);
  m.run("v_mul_f32_e64 v3, -v1, v2 clamp");
  EXPECT_EQ(f32(m.v(3)[0]), 0.75f);
  m.run("v_add_f32_e64 v3, v1, v2 clamp");
  EXPECT_EQ(f32(m.v(3)[0]), 0.0f);
  m.run("v_add_f32_e64 v3, -v1, v2 div:2 clamp");
  EXPECT_EQ(f32(m.v(3)[0]), 1.0f);
}

TEST(VectorFloat, HalvesBySelection) {
  Machine m;
  m.v(1)[0] = to_half(3) << 16 | to_half(5);
  m.v(2)[0] = to_half(7) << 16 | to_half(11);
  m.v(3)[0] = 0x12345678;
  m.run("v_fma_f16 v3, v1, v2, 1.0 op_sel:[1,0,0,1]");
  EXPECT_EQ(m.v(3)[0], to_half(34) << 16 | 0x5678);
  m.run("v_pk_fma_f16 v4, v1, v2, v1 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[0,0,1]");
  EXPECT_EQ(m.v(4)[0], to_half(3 * 11 + 3) << 16 | to_half(5 * 7 - 5));
  m.v(4)[0] = 0;
  m.run("v_fma_mix_f32 v4, v1, v2, 1.0 op_sel:[1,0,0] op_sel_hi:[1,1,0]");
  EXPECT_EQ(f32(m.v(4)[0]), 34.0f);
  m.run("v_fma_mixlo_f16 v3, v1, v2, 1.0 op_sel_hi:[1,1,0]");
  EXPECT_EQ(m.v(3)[0], to_half(34) << 16 | to_half(56));
  m.run("v_fma_mixhi_f16 v3, v1, -v2, 1.0 op_sel_hi:[1,1,0]");
  EXPECT_EQ(m.v(3)[0], to_half(-54) << 16 | to_half(56));
}

TEST(VectorFloat, Conversions) {
  Machine m(Target::gfx950);
  m.v(1)[0] = bits(-2.75f);
  m.v(2)[0] = bits(3.5f);
  m.set_v64(4, 0, bits(-2.75));
  m.v(6)[0] = to_half(-2.75f);
  m.v(7)[0] = 0x80000101;
  const std::pair<const char*, u32> cases[] = {
      {"v_cvt_i32_f32_e32 v8, v1", u32(-2)},
      {"v_cvt_u32_f32_e32 v8, v2", 3},
      {"v_cvt_u32_f32_e32 v8, v1", 0},
      {"v_cvt_rpi_i32_f32_e32 v8, v1", u32(-3)},
      {"v_cvt_flr_i32_f32_e32 v8, v1", u32(-3)},
      {"v_cvt_i32_f64_e32 v8, v[4:5]", u32(-2)},
      {"v_cvt_u32_f64_e32 v8, v[4:5]", 0},
      {"v_cvt_f32_f64_e32 v8, v[4:5]", bits(-2.75f)},
      {"v_cvt_f32_i32_e32 v8, v7", bits(-2147483391.0f)},
      {"v_cvt_f32_u32_e32 v8, v7", bits(2147483905.0f)},
      {"v_cvt_f32_ubyte0_e32 v8, v7", bits(1.0f)},
      {"v_cvt_f32_ubyte1_e32 v8, v7", bits(1.0f)},
      {"v_cvt_f32_ubyte2_e32 v8, v7", bits(0.0f)},
      {"v_cvt_f32_ubyte3_e32 v8, v7", bits(128.0f)},
      {"v_cvt_off_f32_i4_e32 v8, 12", bits(-0.25f)},
      {"v_cvt_f16_f32_e32 v8, v1", 0xc180},
      {"v_cvt_f32_f16_e32 v8, v6", bits(-2.75f)},
      {"v_cvt_f16_u16_e32 v8, 3", to_half(3)},
      {"v_cvt_f16_i16_e32 v8, -3", to_half(-3)},
      {"v_cvt_u16_f16_e32 v8, v6", 0},
      {"v_cvt_i16_f16_e32 v8, v6", 0xfffe},
      {"v_cvt_norm_i16_f16_e32 v8, v6", 0x8001},
      {"v_cvt_norm_u16_f16_e32 v8, 1.0", 0xffff},
      {"v_cvt_pkrtz_f16_f32_e32 v8, v1, v2", to_half(3.5f) << 16 | 0xc180},
      {"v_cvt_pk_f16_f32 v8, v1, v2", to_half(3.5f) << 16 | 0xc180},
      {"v_cvt_pk_bf16_f32 v8, v1, v2", 0x4060c030},
      {"v_cvt_f32_bf16_e32 v8, 0x4060", bits(3.5f)},
      {"v_cvt_pknorm_i16_f32 v8, v1, 0.5", 0x40008001},
      {"v_cvt_pknorm_u16_f32 v8, v1, v2", 0xffff0000},
      {"v_cvt_pknorm_i16_f16 v8, v6, 1.0", 0x7fff8001},
      {"v_cvt_pknorm_u16_f16 v8, v6, 1.0", 0xffff0000},
      {"v_cvt_pk_u16_u32 v8, v7, 5", 0x0005ffff},
      {"v_cvt_pk_i16_i32 v8, v7, 5", 0x00058000},
      {"v_cvt_pk_u8_f32 v8, v2, 2, v7", 0x80040101},
      {"v_sat_pk_u8_i16_e32 v8, 0x01ffff00", 0xff00},
      {"v_pack_b32_f16 v8, v6, 1.0", 0x3c00c180},
      {"v_ashr_pk_i8_i32 v8, v7, 0x300, 4", 0x3080},
      {"v_ashr_pk_u8_i32 v8, v7, 0x300, 4", 0x3000},
      {"v_prng_b32_e32 v8, v7", 0x202u ^ 197u}};
  for (const auto& [text, expected] : cases) {
    m.run(text);
    EXPECT_EQ(m.v(8)[0], expected) << text;
  }
}

TEST(VectorFloat, ConversionsOfDoubles) {
  Machine m;
  m.v(1)[0] = bits(-2.75f);
  m.v(2)[0] = bits(3.5f);
  m.v(7)[0] = 0x80000101;
  m.run("v_cvt_f64_f32_e32 v[8:9], v1");
  EXPECT_EQ(m.v64(8, 0), bits(-2.75));
  m.run("v_cvt_f64_i32_e32 v[8:9], v7");
  EXPECT_EQ(m.v64(8, 0), bits(-2147483391.0));
  m.run("v_cvt_f64_u32_e32 v[8:9], v7");
  EXPECT_EQ(m.v64(8, 0), bits(2147483905.0));
  m.v(8)[0] = 0x11223344;
  m.run("v_cvt_pkaccum_u8_f32 v8, v2, 1");
  EXPECT_EQ(m.v(8)[0], 0x11220444u);
  m.run("v_trig_preop_f64 v[8:9], 1.0, 0");
  EXPECT_NEAR(std::bit_cast<double>(m.v64(8, 0)), 2 / M_PI, 1e-12);
}

// The flushing of subnormals by MODE.
TEST(VectorFloat, Subnormals) {
  Machine m;
  m.v(1)[0] = 0x00400000;
  m.run("v_add_f32_e32 v2, v1, v1");
  EXPECT_EQ(m.v(2)[0], 0x00800000u);
  m.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0");
  m.run("v_add_f32_e32 v2, v1, v1");
  EXPECT_EQ(m.v(2)[0], 0u);
  m.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3");
  m.run("v_add_f32_e32 v2, v1, v1");
  EXPECT_EQ(m.v(2)[0], 0x00800000u);
}

// Directions to the six faces, as the "CDNA3 ISA" tables them: face, s, t, twice the major axis.
TEST(VectorFloat, CubeCoordinates) {
  const struct {
    float x, y, z, face, s, t, major;
  } cases[] = {{3, 1, 2, 0, -2, -1, 6},  {-3, 1, 2, 1, 2, -1, -6}, {1, 3, 2, 2, 1, 2, 6},
               {1, -3, 2, 3, 1, -2, -6}, {1, 2, 3, 4, 1, -2, 6},   {1, 2, -3, 5, -1, -2, -6},
               {2, 2, 2, 4, 2, -2, 4},   {2, -2, 1, 3, 2, -1, -4}};
  Machine m;
  for (const auto& c : cases) {
    m.v(1)[0] = bits(c.x);
    m.v(2)[0] = bits(c.y);
    m.v(3)[0] = bits(c.z);
    const auto result = [&](const char* name) {
      m.run(std::string(name) + " v4, v1, v2, v3");
      return f32(m.v(4)[0]);
    };
    EXPECT_EQ(result("v_cubeid_f32"), c.face);
    EXPECT_EQ(result("v_cubesc_f32"), c.s);
    EXPECT_EQ(result("v_cubetc_f32"), c.t);
    EXPECT_EQ(result("v_cubema_f32"), c.major);
  }
}

}  // namespace
}  // namespace instinct
