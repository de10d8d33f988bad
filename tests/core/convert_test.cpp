// Conversions against the independent definition of tests/reference, over all inputs.
#include "core/convert.h"

#include <gtest/gtest.h>

#include <cstring>

#include "reference/dtypes.h"

namespace {

using namespace wavefire;

constexpr DType narrow[] = {DType::f16,  DType::bf16,     DType::e4m3fn,
                            DType::e5m2, DType::e4m3fnuz, DType::e5m2fnuz};

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(Convert, EveryPatternDecodesAndComesBack) {
  for (DType dtype : narrow) {
    SCOPED_TRACE(name_of(dtype));
    for (std::uint32_t bits = 0; bits < 1u << (8 * size_of(dtype)); ++bits) {
      const float value = core::from_narrow(dtype, static_cast<std::uint16_t>(bits));
      const double exact = reference::value_of_bits(dtype, bits);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(value)) << bits;
        ASSERT_TRUE(std::isnan(reference::value_of_bits(dtype, core::to_narrow(dtype, value))));
        continue;
      }
      ASSERT_EQ(bits_of(value), bits_of(static_cast<float>(exact))) << bits;
      if (std::isinf(exact) && is_float8(dtype)) continue;  // saturates on the way back
      ASSERT_EQ(core::to_narrow(dtype, value), bits) << bits;
    }
  }
}

// Every float32 near a rounding boundary: each value of the type, each middle between two, and
// their neighbours; besides a stride through all bit patterns.
TEST(Convert, RoundsToNearestEvenAndSaturates) {
  const auto agree = [](DType dtype, float value) {
    const std::uint32_t expected = reference::bits_of_value(dtype, static_cast<double>(value));
    const std::uint32_t actual = core::to_narrow(dtype, value);
    if (std::isnan(value)) return std::isnan(reference::value_of_bits(dtype, actual));
    return actual == expected;
  };
  for (DType dtype : narrow) {
    SCOPED_TRACE(name_of(dtype));
    for (std::uint32_t bits = 0; bits < 1u << (8 * size_of(dtype)); ++bits) {
      const double a = reference::value_of_bits(dtype, bits),
                   b = reference::value_of_bits(dtype, bits + 1);
      for (double x : {a, (a + b) / 2}) {
        const auto f = static_cast<float>(x);
        for (float y : {f, std::nextafter(f, INFINITY), std::nextafter(f, -INFINITY)}) {
          ASSERT_TRUE(agree(dtype, y)) << y;
        }
      }
    }
    for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 65521) {
      ASSERT_TRUE(agree(dtype, std::bit_cast<float>(static_cast<std::uint32_t>(bits)))) << bits;
    }
  }
}

TEST(Convert, KnownValues) {
  EXPECT_EQ(core::to_narrow(DType::e4m3fn, 1e9f), 0x7e);       // 448
  EXPECT_EQ(core::to_narrow(DType::e4m3fn, -INFINITY), 0xfe);  // saturates
  EXPECT_EQ(core::to_narrow(DType::e4m3fnuz, -0.f), 0);
  EXPECT_EQ(core::to_narrow(DType::e4m3fnuz, NAN), 0x80);
  EXPECT_EQ(core::to_narrow(DType::e5m2, 1e9f), 0x7b);
  EXPECT_EQ(core::to_narrow(DType::f16, 65520.f), 0x7c00);
  EXPECT_EQ(core::to_narrow(DType::bf16, 1.f), 0x3f80);
}

}  // namespace
