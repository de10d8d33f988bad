// VOP3P: halves, mixed fma, dot products.
#include "virtual/semantics/packed.h"

#include <gtest/gtest.h>

#include "reference.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

std::mt19937& random_source() {
  static std::mt19937 random(1);
  return random;
}
u32 word() { return static_cast<u32>(random_source()()); }

TEST(Packed, Arrange) {
  const u32 x = 0xabcd1234u;
  EXPECT_EQ(arrange(x, {}), x);
  EXPECT_EQ(arrange(x, {.select_low = true, .select_high = false}), 0x1234abcdu);
  EXPECT_EQ(arrange(x, {.select_low = false, .select_high = false}), 0x12341234u);
  EXPECT_EQ(arrange(x, {.select_low = true, .select_high = true}), 0xabcdabcdu);
  EXPECT_EQ(arrange(x, {.negate_low = true}), 0xabcd9234u);
  EXPECT_EQ(arrange(x, {.negate_high = true}), 0x2bcd1234u);
}

// Which of several NaNs a sum hands on is left to the host.
u32 one_nan(u32 x) {
  const auto half = [](u16 h) { return is_nan_f16(h) ? u16{0x7e00} : h; };
  return pack_halves(half(low_half(x)), half(high_half(x)));
}

TEST(Packed, HalvesAreIndependent) {
  for (int i = 0; i < 100000; ++i) {
    const u32 a = word(), b = word(), c = word();
    const u16 al = low_half(a), bl = low_half(b), cl = low_half(c);
    const u16 ah = high_half(a), bh = high_half(b), ch = high_half(c);
    ASSERT_EQ(one_nan(v_pk_add_f16(a, b)), one_nan(pack_halves(add_f16(al, bl), add_f16(ah, bh))));
    ASSERT_EQ(one_nan(v_pk_mul_f16(a, b)), one_nan(pack_halves(mul_f16(al, bl), mul_f16(ah, bh))));
    ASSERT_EQ(one_nan(v_pk_fma_f16(a, b, c)),
              one_nan(pack_halves(fma_f16(al, bl, cl), fma_f16(ah, bh, ch))));
    ASSERT_EQ(v_pk_min_f16(a, b), pack_halves(v_min_f16(al, bl), v_min_f16(ah, bh)));
    ASSERT_EQ(v_pk_max_f16(a, b), pack_halves(v_max_f16(al, bl), v_max_f16(ah, bh)));
    ASSERT_EQ(v_pk_minimum3_f16(a, b, c),
              pack_halves(minimum3_f16(al, bl, cl), minimum3_f16(ah, bh, ch)));
    ASSERT_EQ(v_pk_maximum3_f16(a, b, c),
              pack_halves(maximum3_f16(al, bl, cl), maximum3_f16(ah, bh, ch)));
  }
}

template <bool is_signed>
u32 expected16(i64 low, i64 high, bool clamp) {
  const auto fit = [&](i64 x) {
    const i64 least = is_signed ? -32768 : 0, most = is_signed ? 32767 : 65535;
    return static_cast<u16>(clamp ? std::min(std::max(x, least), most) : x);
  };
  return pack_halves(fit(low), fit(high));
}

template <bool is_signed>
void check_integers() {
  const auto half = [](u32 x, int i) {
    const u16 bits = i == 0 ? low_half(x) : high_half(x);
    return is_signed ? i64{static_cast<i16>(bits)} : i64{bits};
  };
  for (int t = 0; t < 100000; ++t) {
    const u32 a = word(), b = word(), c = word();
    const auto each = [&](auto f, bool clamp) {
      return expected16<is_signed>(f(half(a, 0), half(b, 0), half(c, 0)),
                                   f(half(a, 1), half(b, 1), half(c, 1)), clamp);
    };
    for (const bool clamp : {false, true}) {
      ASSERT_EQ(v_pk_add_16<is_signed>(a, b, clamp),
                each([](i64 x, i64 y, i64) { return x + y; }, clamp));
      ASSERT_EQ(v_pk_sub_16<is_signed>(a, b, clamp),
                each([](i64 x, i64 y, i64) { return x - y; }, clamp));
      ASSERT_EQ(v_pk_mad_16<is_signed>(a, b, c, clamp),
                each([](i64 x, i64 y, i64 z) { return x * y + z; }, clamp));
    }
    ASSERT_EQ(v_pk_min_16<is_signed>(a, b),
              each([](i64 x, i64 y, i64) { return std::min(x, y); }, false));
    ASSERT_EQ(v_pk_max_16<is_signed>(a, b),
              each([](i64 x, i64 y, i64) { return std::max(x, y); }, false));
    ASSERT_EQ(v_pk_mul_lo_u16(a, b), each([](i64 x, i64 y, i64) { return x * y; }, false));
    ASSERT_EQ(v_pk_lshlrev_b16(a, b), each([](i64 x, i64 y, i64) { return y << (x & 15); }, false));
    if (is_signed) {
      ASSERT_EQ(v_pk_ashrrev_i16(a, b),
                each([](i64 x, i64 y, i64) { return y >> (x & 15); }, false));
    } else {
      ASSERT_EQ(v_pk_lshrrev_b16(a, b),
                each([](i64 x, i64 y, i64) { return y >> (x & 15); }, false));
    }
  }
}

TEST(Packed, SignedIntegers) { check_integers<true>(); }
TEST(Packed, UnsignedIntegers) { check_integers<false>(); }

TEST(Packed, MixSources) {
  const u32 x = 0xc0003c00u;  // f16: 1, -2
  EXPECT_EQ(mix_source(x, {.half = true}), 1.0f);
  EXPECT_EQ(mix_source(x, {.half = true, .high = true}), -2.0f);
  EXPECT_EQ(mix_source(x, {.half = true, .high = true, .absolute = true}), 2.0f);
  EXPECT_EQ(mix_source(x, {.half = true, .high = true, .negate = true, .absolute = true}), -2.0f);
  EXPECT_EQ(mix_source(x, {}), float_of(x));
  EXPECT_EQ(mix_source(x, {.negate = true}), -float_of(x));
  EXPECT_EQ(v_fma_mix_f32(2.0f, 3.0f, 4.0f), 10.0f);
}

// One rounding, from the exact value: long double holds products of f32, and sums near them.
TEST(Packed, MixToHalfRoundsOnce) {
  const ReferenceFormat format(f16_format);
  for (int i = 0; i < 300000; ++i) {
    const float a = float_of((word() & 0x807fffffu) | (120 + word() % 15) << 23);
    const float b = float_of((word() & 0x807fffffu) | (120 + word() % 15) << 23);
    float c = float_of((word() & 0x807fffffu) | (110 + word() % 30) << 23);
    if (i % 4 == 0) {
      // Close to a tie of f16.
      c = static_cast<float>((word() % 2048 + 0.5) - static_cast<double>(a) * b);
    }
    const long double exact = static_cast<long double>(a) * b + c;
    double size = static_cast<double>(std::fabs(exact));
    if (static_cast<long double>(size) != std::fabs(exact) && (bits_of(size) & 1) == 0) {
      size = std::nextafter(size, static_cast<long double>(size) < std::fabs(exact) ? HUGE_VAL : 0);
    }
    const auto rounded = format.nearest(size);
    const u32 expected = rounded.overflow ? 0x7c00 : rounded.magnitude;
    ASSERT_EQ(fma_mix_f16(a, b, c) & 0x7fff, expected) << a << " " << b << " " << c;
  }
}

TEST(Packed, DotOfHalves) {
  const ReferenceFormat half(f16_format);
  for (int i = 0; i < 100000; ++i) {
    const u32 a = word() & 0xbfffbfffu, b = word() & 0xbfffbfffu;  // below 2
    const float c = static_cast<float>(static_cast<i32>(word())) * 0x1p-31f;
    // The products are exact in f32, so two roundings are left.
    const double low = half.value(a & 0xffff) * half.value(b & 0xffff);
    const double high = half.value(a >> 16) * half.value(b >> 16);
    const float first = static_cast<float>(c + low);
    ASSERT_EQ(v_dot2_f32_f16(a, b, c), static_cast<float>(first + high));
  }
  for (int i = 0; i < 100000; ++i) {
    const u32 a = (word() & 0x83ff83ffu) | 0x3c003c00u, b = (word() & 0x83ff83ffu) | 0x3c003c00u;
    const float c = static_cast<float>(static_cast<i32>(word())) * 0x1p-31f;
    const auto value = [](u32 bits) { return static_cast<double>(float_of(bits << 16)); };
    const double low = value(a & 0xffff) * value(b & 0xffff),
                 high = value(a >> 16) * value(b >> 16);
    const float products = static_cast<float>(low + high);
    ASSERT_EQ(v_dot2_f32_bf16(a, b, c), static_cast<float>(static_cast<double>(products) + c));
    const float first = static_cast<float>(c + low);
    ASSERT_EQ(v_dot2c_f32_bf16(a, b, c), static_cast<float>(first + high));
  }
}

// Independent: fields taken apart by division.
template <bool is_signed>
u32 expected_dot(u32 a, u32 b, u32 c, int bits, bool clamp) {
  __int128 sum = is_signed ? static_cast<__int128>(static_cast<i32>(c)) : c;
  const i64 base = i64{1} << bits;
  i64 x = a, y = b;
  for (int i = 0; i < 32 / bits; ++i) {
    i64 p = x % base, q = y % base;
    if (is_signed && p >= base / 2) p -= base;
    if (is_signed && q >= base / 2) q -= base;
    sum += p * q;
    x /= base;
    y /= base;
  }
  if (clamp) {
    const __int128 low = is_signed ? -(__int128{1} << 31) : 0;
    const __int128 high = is_signed ? (__int128{1} << 31) - 1 : (__int128{1} << 32) - 1;
    sum = sum < low ? low : sum > high ? high : sum;
  }
  return static_cast<u32>(sum);
}

TEST(Packed, DotOfIntegers) {
  for (int i = 0; i < 200000; ++i) {
    const u32 a = word(), b = word();
    const u32 c = i % 3 == 0 ? 0x7ffffff0u : i % 3 == 1 ? 0xfffffff0u : word();
    for (const bool clamp : {false, true}) {
      ASSERT_EQ(v_dot2_i32_i16(a, b, c, clamp), expected_dot<true>(a, b, c, 16, clamp));
      ASSERT_EQ(v_dot2_u32_u16(a, b, c, clamp), expected_dot<false>(a, b, c, 16, clamp));
      ASSERT_EQ(v_dot4_i32_i8(a, b, c, clamp), expected_dot<true>(a, b, c, 8, clamp));
      ASSERT_EQ(v_dot4_u32_u8(a, b, c, clamp), expected_dot<false>(a, b, c, 8, clamp));
      ASSERT_EQ(v_dot8_i32_i4(a, b, c, clamp), expected_dot<true>(a, b, c, 4, clamp));
      ASSERT_EQ(v_dot8_u32_u4(a, b, c, clamp), expected_dot<false>(a, b, c, 4, clamp));
    }
  }
}

}  // namespace
}  // namespace instinct::INSTINCT_LEVEL
