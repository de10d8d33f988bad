// The model of a compute unit: what it must say of programs whose time is known.
#include "virtual/model.h"
#include "machine.h"

namespace instinct {
namespace {

constexpr int matrix_unit = static_cast<int>(Unit::matrix);
constexpr int lds_unit = static_cast<int>(Unit::lds);
constexpr int vector_unit = static_cast<int>(Unit::valu);

// The lines, repeated, on `waves` waves.
ModelResult simulate_lines(const std::vector<std::string>& lines, u32 repeats, u32 waves,
                           u32 cost = 0, LoopRange loop = {}) {
  static std::vector<std::shared_ptr<const Program>> kept;
  kept.push_back(Program::from_text(lines, Target::gfx942));
  Trace trace(waves);
  for (auto& wave : trace) {
    for (u32 r = 0; r < repeats; ++r) {
      for (u32 i = 0; i < lines.size(); ++i) wave.push_back({i, cost});
    }
  }
  return simulate(*kept.back(), {trace}, loop);
}

double share(u64 part, u64 whole) { return static_cast<double>(part) / static_cast<double>(whole); }

// Eight independent sums: the matrix unit is never idle for long.
TEST(Model, MatrixUnitIsBusy) {
  std::vector<std::string> lines;
  for (u32 i = 0; i < 8; ++i) {
    const u32 first = 16 + 16 * i;
    const std::string sum = "v[" + std::to_string(first) + ":" + std::to_string(first + 15) + "]";
    lines.push_back("v_mfma_f32_32x32x8_f16 " + sum + ", v[2:3], v[4:5], " + sum);
  }
  const ModelResult result = simulate_lines(lines, 100, 4);
  EXPECT_GT(result.whole.matrix_share(), 0.95);
  EXPECT_NEAR(static_cast<double>(result.whole.total), 800 * 32, 800);
  EXPECT_EQ(result.whole.busy[matrix_unit], 800u * 32);
}

// A wave of vector instructions takes four cycles each; a second wave on the SIMD does not help.
TEST(Model, VectorRate) {
  const std::vector<std::string> lines(64, "v_add_f32_e32 v1, v2, v3");
  const u64 one = simulate_lines(lines, 16, 4).whole.total;
  const u64 two = simulate_lines(lines, 16, 8).whole.total;
  EXPECT_NEAR(static_cast<double>(one), 64 * (16 * 4 + 0), 64 * 16.0);
  EXPECT_NEAR(share(two, one), 2, 0.4);
}

TEST(Model, TranscendentalsTakeFourTimesAsLong) {
  const std::vector<std::string> fast(32, "v_add_f32_e32 v1, v2, v3");
  const std::vector<std::string> slow(32, "v_exp_f32_e32 v1, v2");
  EXPECT_NEAR(
      share(simulate_lines(slow, 20, 8).whole.total, simulate_lines(fast, 20, 8).whole.total), 4,
      0.5);
}

// Vector work of one wave hides behind the matrix work of another.
TEST(Model, WavesOverlap) {
  const std::vector<std::string> lines = {
      "v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[4:5], v[16:31]", "v_add_f32_e32 v6, v16, v8",
      "v_add_f32_e32 v7, v6, v8", "v_add_f32_e32 v6, v7, v8", "v_add_f32_e32 v7, v6, v8"};
  const double alone = simulate_lines(lines, 50, 4).whole.matrix_share();
  const double together = simulate_lines(lines, 50, 8).whole.matrix_share();
  EXPECT_GT(together, 1.2 * alone);
}

// LDS is shared by the SIMDs: four waves of accesses of eight cycles each.
TEST(Model, LdsBandwidth) {
  const std::vector<std::string> lines(16, "ds_read_b128 v[4:7], v2");
  const ModelResult result = simulate_lines(lines, 20, 4, 8);
  EXPECT_GT(share(result.whole.busy[lds_unit], result.whole.total), 0.9);
  EXPECT_NEAR(static_cast<double>(result.whole.total), 4 * 16 * 20 * 8, 1500);
}

TEST(Model, WaitsForMemory) {
  const std::vector<std::string> lines = {"global_load_dword v4, v2, s[4:5]", "s_waitcnt vmcnt(0)",
                                          "v_add_f32_e32 v1, v4, v4"};
  const ModelResult result = simulate_lines(lines, 10, 4, 4);
  EXPECT_GT(result.whole.total, 10u * 500);
  EXPECT_GT(share(result.whole.waiting_memory, result.whole.total), 0.9);
  EXPECT_EQ(result.whole.busy[vector_unit], 10u * 4);
}

// A wave that comes late keeps the others waiting.
TEST(Model, Barriers) {
  const auto program =
      Program::from_text({"v_add_f32_e32 v1, v2, v3", "s_barrier"}, Target::gfx942);
  Trace trace(4);
  for (u32 w = 0; w < 4; ++w) {
    for (u32 i = 0; i < (w ? 1 : 1000); ++i) trace[w].push_back({0, 0});
    trace[w].push_back({1, 0});
    trace[w].push_back({0, 0});
  }
  const ModelResult result = simulate(*program, {trace}, {});
  EXPECT_GT(result.whole.total, 4000u);
  EXPECT_NEAR(share(result.whole.waiting_barrier, result.whole.total), 0.75, 0.05);
}

TEST(Model, LoopWindow) {
  const ModelResult result =
      simulate_lines({"v_add_f32_e32 v1, v2, v3", "s_nop 0", "s_nop 0", "v_add_f32_e32 v1, v2, v3"},
                     1, 4, 0, {1, 2});
  EXPECT_LE(result.loop.total, result.whole.total);
  EXPECT_GT(result.loop.total, 0u);
}

u32 strided(Target target, u32 stride, u32 bytes, bool writes = false) {
  u32 address[64];
  for (u32 lane = 0; lane < 64; ++lane) address[lane] = stride * lane;
  return lds_cycles(target, address, ~u64{0}, bytes, writes);
}

TEST(Conflicts, Lds) {
  EXPECT_EQ(strided(Target::gfx942, 4, 4), 2u);     // 32 banks, 64 lanes
  EXPECT_EQ(strided(Target::gfx950, 4, 4), 1u);     // 64 banks
  EXPECT_EQ(strided(Target::gfx942, 0, 4), 2u);     // one word for all
  EXPECT_EQ(strided(Target::gfx942, 128, 4), 64u);  // all in one bank
  EXPECT_EQ(strided(Target::gfx942, 132, 4), 2u);   // padded
  EXPECT_EQ(strided(Target::gfx942, 16, 16), 8u);   // 1024 bytes at 128 a cycle
  EXPECT_EQ(strided(Target::gfx950, 16, 16), 4u);
  EXPECT_EQ(strided(Target::gfx950, 8, 8), 2u);
  EXPECT_EQ(strided(Target::gfx950, 8, 8, true), 4u);
}

TEST(Conflicts, Memory) {
  u64 address[64];
  for (u32 lane = 0; lane < 64; ++lane) address[lane] = 0x1000 + 4 * lane;
  EXPECT_EQ(memory_cycles(address, ~u64{0}, 4), 4u);
  for (u32 lane = 0; lane < 64; ++lane) address[lane] = 0x1000 + 16 * lane;
  EXPECT_EQ(memory_cycles(address, ~u64{0}, 16), 16u);
  for (u32 lane = 0; lane < 64; ++lane) address[lane] = 0x1000 + 4096 * lane;
  EXPECT_EQ(memory_cycles(address, ~u64{0}, 4), 128u);  // a line for each lane
}

}  // namespace
}  // namespace instinct
