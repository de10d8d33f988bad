// Conversions between integers and floats, against wider arithmetic.
#include "virtual/semantics/convert.h"

#include <gtest/gtest.h>

#include "reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

template <class T>
T saturated(double x) {
  if (std::isnan(x)) return 0;
  const double truncated = std::trunc(x);
  if (truncated < static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  if (truncated > static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(truncated);
}

TEST(Convert, FloatsToIntegers) {
  for (const float x : telling_floats(500)) {
    const double wide = x;
    ASSERT_EQ(v_cvt_i32_f32(x), saturated<i32>(wide)) << x;
    ASSERT_EQ(v_cvt_u32_f32(x), saturated<u32>(wide)) << x;
    ASSERT_EQ(v_cvt_flr_i32_f32(x), saturated<i32>(std::floor(wide))) << x;
    ASSERT_EQ(v_cvt_rpi_i32_f32(x), saturated<i32>(std::floor(wide + 0.5))) << x;
    for (const double y : {wide, wide * 1.0000001, wide + 0.75}) {
      ASSERT_EQ(v_cvt_i32_f64(y), saturated<i32>(y)) << y;
      ASSERT_EQ(v_cvt_u32_f64(y), saturated<u32>(y)) << y;
    }
  }
  const ReferenceFormat format(f16_format);
  for (u32 code = 0; code < 0x10000; ++code) {
    ASSERT_EQ(v_cvt_i16_f16(static_cast<u16>(code)), saturated<i16>(format.value(code))) << code;
    ASSERT_EQ(v_cvt_u16_f16(static_cast<u16>(code)), saturated<u16>(format.value(code))) << code;
  }
}

TEST(Convert, IntegersToFloats) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    u32 x = static_cast<u32>(random()) >> (random() % 32);
    if (i % 3 == 0) x = (x | 1) << (random() % 8);
    const i32 s = static_cast<i32>(i % 2 == 0 ? x : ~x);
    ASSERT_EQ(v_cvt_f32_u32(x), static_cast<float>(static_cast<double>(x))) << x;
    ASSERT_EQ(v_cvt_f32_i32(s), static_cast<float>(static_cast<double>(s))) << s;
    ASSERT_EQ(v_cvt_f64_u32(x), static_cast<double>(x));
    ASSERT_EQ(v_cvt_f64_i32(s), static_cast<double>(s));
    for (u32 byte = 0; byte < 4; ++byte) {
      ASSERT_EQ(v_cvt_f32_ubyte(x, byte), static_cast<float>(x >> (8 * byte) & 0xff));
    }
  }
  for (const u32 x : {0u, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0xffffff80u, 0xffffff7fu}) {
    ASSERT_EQ(v_cvt_f32_u32(x), static_cast<float>(static_cast<double>(x))) << x;
  }
  const ReferenceFormat format(f16_format);
  for (int x = -32768; x < 65536; ++x) {
    for (const Round round : {Round::nearest, Round::up, Round::down, Round::zero}) {
      const bool away = round == Round::up ? x > 0 : round == Round::down && x < 0;
      const double size = std::abs(x);
      const auto r = round == Round::nearest ? format.nearest(size) : format.directed(size, away);
      const u32 expected = (x < 0 ? 0x8000 : 0) | (r.overflow ? 0x7c00 : r.magnitude);
      if (x < 32768) {
        ASSERT_EQ(v_cvt_f16_i16(static_cast<i16>(x), round), expected) << x;
      }
      if (x >= 0) {
        ASSERT_EQ(v_cvt_f16_u16(static_cast<u16>(x), round), expected) << x;
      }
    }
  }
  for (u32 x = 0; x < 16; ++x) {
    const int value = x < 8 ? static_cast<int>(x) : static_cast<int>(x) - 16;
    EXPECT_EQ(v_cvt_off_f32_i4(x | 0xabcd00u), static_cast<float>(value) / 16);
  }
}

TEST(Convert, FloatsToFloats) {
  EXPECT_EQ(v_cvt_f32_f64(0.1), 0.1f);
  EXPECT_EQ(v_cvt_f64_f32(0.1f), static_cast<double>(0.1f));
  EXPECT_TRUE(std::isnan(v_cvt_f32_f64(std::nan(""))));
  EXPECT_EQ(v_cvt_f32_f64(1e300), HUGE_VALF);
}

TEST(Convert, Normalised) {
  for (const float x : telling_floats(300)) {
    const double wide = std::isnan(x) ? 0 : std::min(std::max(static_cast<double>(x), -1.0), 1.0);
    const u32 s = static_cast<u16>(static_cast<i16>(std::nearbyint(wide * 32767)));
    const u32 u = static_cast<u16>(std::nearbyint(std::max(wide, 0.0) * 65535));
    ASSERT_EQ(v_cvt_pknorm_i16_f32(x, 1.0f), s | 0x7fff0000u) << x;
    ASSERT_EQ(v_cvt_pknorm_u16_f32(1.0f, x), 0xffffu | u << 16) << x;
  }
  EXPECT_EQ(v_cvt_norm_i16_f16(0xbc00), -32767);
  EXPECT_EQ(v_cvt_norm_u16_f16(0x3c00), 65535);
  EXPECT_EQ(v_cvt_norm_u16_f16(0xbc00), 0);
  EXPECT_EQ(v_cvt_pknorm_i16_f16(0x3c00, 0xbc00), 0x80017fffu);
  EXPECT_EQ(v_cvt_pknorm_u16_f16(0x3c00, 0x0000), 0x0000ffffu);
}

TEST(Convert, Packs) {
  EXPECT_EQ(v_cvt_pkrtz_f16_f32(1.9999f, -1.9999f), 0xbfff3fffu);
  EXPECT_EQ(v_cvt_pkrtz_f16_f32(1e9f, HUGE_VALF), 0x7c007bffu);
  EXPECT_EQ(v_cvt_pk_f16_f32(1.9999f, -1.9999f), 0xc0004000u);
  EXPECT_EQ(v_cvt_pk_bf16_f32(1.0f, -2.0f), 0xc0003f80u);
  EXPECT_EQ(v_pack_b32_f16(0x1234, 0x5678), 0x56781234u);
  EXPECT_EQ(v_cvt_pk_u16_u32(70000, 5), 0x0005ffffu);
  EXPECT_EQ(v_cvt_pk_i16_i32(70000, -70000), 0x80007fffu);
  EXPECT_EQ(v_cvt_pk_i16_i32(-1, 12), 0x000cffffu);
  EXPECT_EQ(v_sat_pk_u8_i16(0xffff0100u), 0x00ffu);
  EXPECT_EQ(v_sat_pk_u8_i16(0x00800005u), 0x8005u);
  EXPECT_EQ(v_ashr_pk_i8_i32(-1024, 1024, 2), 0x7f80u);
  EXPECT_EQ(v_ashr_pk_u8_i32(-1024, 1020, 2), 0xff00u);
  EXPECT_EQ(v_ashr_pk_i8_i32(-1024, 64, 34), 0x1080u);  // five bits of the shift
}

TEST(Convert, Bytes) {
  for (int i = -20; i < 600; ++i) {
    const float x = static_cast<float>(i) * 0.5f + 0.25f * static_cast<float>(i % 2);
    const double bounded = std::min(std::max(static_cast<double>(x), 0.0), 255.0);
    ASSERT_EQ(byte_of_f32(x), static_cast<u32>(std::nearbyint(bounded))) << x;
    ASSERT_EQ(byte_of_f32(x, Round::zero), static_cast<u32>(bounded)) << x;
    ASSERT_EQ(byte_of_f32(x, Round::down), static_cast<u32>(std::floor(bounded))) << x;
    ASSERT_EQ(byte_of_f32(x, Round::up), static_cast<u32>(std::ceil(bounded))) << x;
  }
  EXPECT_EQ(byte_of_f32(float_of(0x7fc00000u)), 0u);
  EXPECT_EQ(v_cvt_pk_u8_f32(200.0f, 1, 0x11223344u), 0x1122c844u);
  EXPECT_EQ(v_cvt_pk_u8_f32(1e9f, 7, 0x11223344u), 0xff223344u);
}

TEST(Convert, Prng) {
  EXPECT_EQ(v_prng_b32(1), 2u);
  EXPECT_EQ(v_prng_b32(0x80000000u), 197u);
  // The whole period: nothing but 0 leads to 0, and small cycles do not exist.
  u32 x = 1;
  for (int i = 0; i < 1000000; ++i) {
    x = v_prng_b32(x);
    ASSERT_NE(x, 1u);
    ASSERT_NE(x, 0u);
  }
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
