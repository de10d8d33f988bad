// Errors of kernels/math against double precision, on every CPU level.
#include WAVEFIRE_TILE_HEADER

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "math/exp2.h"
#include "math/log2.h"
#include "math/philox.h"
#include "math/sincos.h"
#include "math/tanh.h"

namespace {

using namespace wavefire;
using tile::Vec;
using Traits = tile::ElementTraits<Vec>;

template <class F>
float apply(F f, float x) {
  float lanes[tile::vec_width];
  Traits::store(lanes, f(Traits::splat(x)));
  return lanes[tile::vec_width - 1];
}

/// Distance in units of the last place of the exact result.
double ulps(float value, double exact) {
  if (std::isnan(exact)) return std::isnan(value) ? 0 : 1e9;
  const float nearest = static_cast<float>(exact);
  if (std::isinf(nearest)) return value == nearest ? 0 : 1e9;
  const float next = std::nextafter(std::fabs(nearest), std::numeric_limits<float>::infinity());
  const double unit = std::isinf(next) ? 0x1p104 : double{next} - std::fabs(nearest);
  return std::fabs(value - exact) / unit;
}

/// The largest error over a dense sweep of bit patterns that covers every exponent and sign.
template <class F, class Reference>
double worst(F f, Reference reference) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 19997) {
    const auto word = static_cast<std::uint32_t>(bits);
    float x;
    std::memcpy(&x, &word, 4);
    worst = std::fmax(worst, ulps(apply(f, x), reference(static_cast<double>(x))));
  }
  for (float x : {0.f, -0.f, 1.f, -1.f, 127.f, 128.f, -126.f, -149.f, -150.f, INFINITY, -INFINITY,
                  NAN, 1e-45f, 88.7f, -103.9f, 0.625f, 0.921875f}) {
    worst = std::fmax(worst, ulps(apply(f, x), reference(static_cast<double>(x))));
  }
  return worst;
}

TEST(Math, Exp2) {
  EXPECT_LT(worst([](Vec x) { return math::exp2(x); }, [](double x) { return std::exp2(x); }), 2.0);
}
TEST(Math, Exp) {
  EXPECT_LT(worst([](Vec x) { return math::exp(x); }, [](double x) { return std::exp(x); }), 2.0);
}
TEST(Math, Log2) {
  EXPECT_LT(worst([](Vec x) { return math::log2(x); }, [](double x) { return std::log2(x); }), 2.5);
}
TEST(Math, Log) {
  EXPECT_LT(worst([](Vec x) { return math::log(x); }, [](double x) { return std::log(x); }), 2.5);
}
TEST(Math, Tanh) {
  EXPECT_LT(worst([](Vec x) { return math::tanh(x); }, [](double x) { return std::tanh(x); }), 3.0);
}
TEST(Math, Erf) {
  EXPECT_LT(worst([](Vec x) { return math::erf(x); }, [](double x) { return std::erf(x); }), 2.0);
}

TEST(Math, NormalCdfKeepsItsDigitsInTheTail) {
  double error = 0;
  for (float x = -12; x < 12; x += 0.00137f) {
    const double exact = 0.5 * std::erfc(-static_cast<double>(x) / std::sqrt(2.0));
    const float value = apply([](Vec v) { return math::normal_cdf(v); }, x);
    // Of itself down to 1e-8; further out of that.
    error = std::fmax(error, std::fabs(value - exact) / std::fmax(exact, 1e-8));
  }
  EXPECT_LT(error, 1e-4);
}

TEST(Math, SineAndCosineOfAProductUpTo2To24) {
  double error = 0;
  for (int position = 0; position < (1 << 24); position += 997) {
    for (float frequency : {1.f, 0.8659643f, 0.1f, 1.1547820e-4f, 0.6493816f, 1e-6f}) {
      Vec s, c;
      math::sincos_product(Traits::splat(static_cast<float>(position)), Traits::splat(frequency), s,
                           c);
      float sine[tile::vec_width], cosine[tile::vec_width];
      Traits::store(sine, s);
      Traits::store(cosine, c);
      const double angle = static_cast<double>(position) * static_cast<double>(frequency);
      error = std::fmax(error, std::fabs(sine[0] - std::sin(angle)));
      error = std::fmax(error, std::fabs(cosine[0] - std::cos(angle)));
    }
  }
  EXPECT_LT(error, 2e-7);
}

// Known answers of the authors' Random123 distribution (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, KnownAnswers) {
  const auto expect = [](math::Philox p, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                         std::uint32_t d) {
    EXPECT_EQ(p.word[0], a);
    EXPECT_EQ(p.word[1], b);
    EXPECT_EQ(p.word[2], c);
    EXPECT_EQ(p.word[3], d);
  };
  expect(math::philox(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  expect(math::philox(~0ull, ~0ull, ~0ull), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  expect(math::philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e), 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1);
}

TEST(Philox, UniformsLieInsideTheOpenInterval) {
  EXPECT_EQ(math::to_uniform(0, 0), 0x1p-53);
  EXPECT_EQ(math::to_uniform(~0u, ~0u), 1 - 0x1p-53);
  EXPECT_EQ(math::to_uniform(1u << 31, 0), 0.5 + 0x1p-53);
}

}  // namespace
