// The levels' own conversions agree with the scalar definition, over all inputs.
#include WAVEFIRE_TILE_HEADER

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "reference/dtypes.h"

namespace {

using namespace wavefire;
using tile::Vec;
using Traits = tile::ElementTraits<Vec>;

template <DType dtype>
void expect_loads() {
  SCOPED_TRACE(name_of(dtype));
  for (std::uint32_t bits = 0; bits < 1u << (8 * size_of(dtype)); ++bits) {
    std::uint8_t data[16 * 2];
    for (int i = 0; i < tile::vec_width; ++i) reference::encode_bits(dtype, bits, data, i);
    float lanes[tile::vec_width];
    Traits::store(lanes, tile::load_as<dtype>(data));
    const double exact = reference::value_of_bits(dtype, bits);
    for (float lane : lanes) {
      ASSERT_TRUE(std::isnan(exact) ? std::isnan(lane)
                                    : std::bit_cast<std::uint32_t>(lane) ==
                                          std::bit_cast<std::uint32_t>(static_cast<float>(exact)))
          << bits;
    }
  }
}

TEST(TileConvert, LoadsAreExact) {
  expect_loads<DType::f16>();
  expect_loads<DType::bf16>();
  expect_loads<DType::e4m3fn>();
  expect_loads<DType::e5m2>();
  expect_loads<DType::e4m3fnuz>();
  expect_loads<DType::e5m2fnuz>();
}

template <DType dtype>
void expect_stores() {
  SCOPED_TRACE(name_of(dtype));
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 24851) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    std::uint16_t lanes[tile::vec_width];
    tile::store_as<dtype>(lanes, Traits::splat(value));
    const double stored = reference::value_of_bits(dtype, lanes[tile::vec_width - 1]);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(stored)) << bits;
    } else {
      ASSERT_EQ(lanes[0], reference::bits_of_value(dtype, static_cast<double>(value))) << bits;
    }
  }
}

TEST(TileConvert, StoresRoundToNearestEven) {
  expect_stores<DType::f16>();
  expect_stores<DType::bf16>();
}

TEST(TileConvert, PartsTouchNothingBehindThem) {
  float data[tile::vec_width + 1];
  for (int count = 0; count < tile::vec_width; ++count) {
    for (float& value : data) value = 7;
    tile::store_first_as<DType::f32>(data, Traits::splat(1.f), count);
    for (int i = 0; i <= tile::vec_width; ++i) EXPECT_EQ(data[i], i < count ? 1.f : 7.f);
    float lanes[tile::vec_width];
    Traits::store(lanes, tile::load_first_as<DType::f32>(data, count));
    for (int i = 0; i < tile::vec_width; ++i) EXPECT_EQ(lanes[i], i < count ? 1.f : 0.f);
  }
}

TEST(TileVector, TransposeAndReduceEach) {
  Vec block[tile::vec_width], sums[tile::vec_width];
  float row[tile::vec_width];
  for (int i = 0; i < tile::vec_width; ++i) {
    for (int j = 0; j < tile::vec_width; ++j) row[j] = static_cast<float>(100 * i + j);
    block[i] = sums[i] = Traits::load(row);
  }
  tile::transpose(block);
  for (int i = 0; i < tile::vec_width; ++i) {
    Traits::store(row, block[i]);
    for (int j = 0; j < tile::vec_width; ++j) EXPECT_EQ(row[j], static_cast<float>(100 * j + i));
  }
  Traits::store(row, tile::reduce_add_each(sums));
  constexpr int n = tile::vec_width;
  for (int i = 0; i < n; ++i) EXPECT_EQ(row[i], static_cast<float>(100 * i * n + n * (n - 1) / 2));
}

TEST(TileVector, MaskBitsSelectLanes) {
  for (std::uint32_t bits = 0; bits < 1u << tile::vec_width; bits += 3) {
    float row[tile::vec_width];
    Traits::store(
        row, tile::select(tile::lanes_from_bits(bits), Traits::splat(1.f), Traits::splat(0.f)));
    for (int i = 0; i < tile::vec_width; ++i) ASSERT_EQ(row[i], static_cast<float>(bits >> i & 1));
  }
}

}  // namespace
