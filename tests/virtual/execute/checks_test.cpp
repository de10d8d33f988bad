// Waits, wait states, races: each rule has a case that is too early and one that is not.
#include "machine.h"

namespace instinct {
namespace {

using Lines = std::vector<std::string>;

Checks only(bool Checks::* which) {
  Checks checks = Checks::none();
  checks.*which = true;
  return checks;
}

std::optional<Fault> hazard(const Lines& lines, Target target = Target::gfx942) {
  Machine m(target, only(&Checks::hazards));
  for (const std::string& line : lines)
    EXPECT_NE(parse_instruction(line, target).opcode, nullptr) << line;
  return m.fault(lines);
}

// `before`, then `states` wait states, then `after`: found with one too few, not with enough.
void check_states(const std::string& before, u32 states, const std::string& after,
                  Target target = Target::gfx942) {
  for (const u32 between : {states - 1, states}) {
    Lines lines = {before};
    if (between) lines.push_back("s_nop " + std::to_string(std::min(between, 16u) - 1));
    if (between > 16) lines.push_back("s_nop " + std::to_string(between - 17));
    lines.push_back(after);
    const auto found = hazard(lines, target);
    if (between == states) {
      EXPECT_EQ(found, std::nullopt) << before << "; " << after;
    } else {
      EXPECT_EQ(found, Fault::wait_states) << before << "; " << after;
    }
  }
}

// LLVM, GCNHazardRecognizer.cpp.
TEST(WaitStates, OfVectorInstructions) {
  check_states("v_mov_b32_e32 v1, v0", 2,
               "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf");
  check_states("v_cmpx_eq_u32_e32 vcc, v0, v0", 5,
               "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf");
  check_states("v_cmp_eq_u32_e32 vcc, v0, v0", 2, "v_cndmask_b32_e32 v1, v2, v3, vcc");
  check_states("v_readfirstlane_b32 s4, v0", 2, "v_add_u32_e32 v1, s4, v2");
  check_states("v_mov_b32_e32 v1, v0", 1, "v_readlane_b32 s4, v1, 0");
  check_states("v_readfirstlane_b32 s4, v0", 4, "v_readlane_b32 s5, v1, s4");
  check_states("v_cmpx_eq_u32_e32 vcc, v0, v0", 4, "v_writelane_b32 v1, s5, 0");
  check_states("v_cmp_eq_u32_e32 vcc, v0, v0", 4, "v_div_fmas_f32 v1, v2, v3, v4");
  check_states("v_exp_f32_e32 v1, v0", 1, "v_mul_f32_e32 v2, v1, v0");
  EXPECT_EQ(hazard({"v_exp_f32_e32 v1, v0", "v_log_f32_e32 v2, v1"}), std::nullopt);
  check_states(
      "v_add_f16_sdwa v1, v0, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD "
      "src1_sel:DWORD",
      1, "v_mul_f32_e32 v2, v1, v0");
  check_states("v_mov_b32_e32 v1, v0", 2, "v_permlane32_swap_b32_e32 v1, v2", Target::gfx950);
}

TEST(WaitStates, OfDotProducts) {
  check_states("v_dot4_i32_i8 v1, v2, v3, v4", 3, "v_add_u32_e32 v5, v1, v0");
  check_states("v_dot4_i32_i8 v1, v2, v3, v4", 3, "v_dot4_i32_i8 v5, v1, v3, v4");
  EXPECT_EQ(hazard({"v_dot4_i32_i8 v1, v2, v3, v4", "v_dot4_i32_i8 v1, v2, v3, v1"}), std::nullopt);
}

TEST(WaitStates, OfMatrixInstructions) {
  const std::string large = "v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[4:5], 0";   // 8 passes
  const std::string small = "v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[4:5], 0";  // 4
  check_states(large, 11, "v_add_f32_e32 v1, v31, v0");
  check_states(small, 7, "v_add_f32_e32 v1, v16, v0");
  check_states(small, 8, "v_add_f32_e32 v1, v16, v0", Target::gfx950);
  check_states(small, 7, "v_mov_b32_e32 v16, v0");
  check_states(small, 7, "ds_write_b32 v0, v17");
  check_states("v_mfma_f32_16x16x4_f32 v[16:19], v2, v4, 0", 10, "v_add_f32_e32 v1, v16, v0");
  // To factors, to another sum that overlaps, and to the same sum, which is forwarded.
  check_states(small, 7, "v_mfma_f32_16x16x16_f16 v[20:23], v[16:17], v[4:5], 0");
  check_states(small, 5, "v_mfma_f32_16x16x16_f16 v[20:23], v[2:3], v[4:5], v[18:21]");
  EXPECT_EQ(hazard({small, "v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[4:5], v[16:19]"}),
            std::nullopt);
  check_states("v_mov_b32_e32 v2, v0", 2, small);
  check_states("v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[4:5], v[32:47]", 7,
               "v_mov_b32_e32 v40, v0");
  check_states("v_mfma_f64_16x16x4_f64 v[16:23], v[2:3], v[4:5], 0", 11,
               "v_add_f32_e32 v1, v16, v0");
  check_states("v_mfma_f64_16x16x4_f64 v[16:23], v[2:3], v[4:5], 0", 18, "ds_write_b32 v0, v16");
}

// Formats of at most six bits take half the passes.
TEST(WaitStates, OfNarrowFormats) {
  check_states("v_mfma_f32_16x16x128_f8f6f4 v[16:19], v[0:7], v[8:15], 0", 12,
               "v_add_f32_e32 v1, v16, v0", Target::gfx950);
  check_states("v_mfma_f32_16x16x128_f8f6f4 v[16:19], v[0:3], v[8:11], 0 cbsz:4 blgp:4", 8,
               "v_add_f32_e32 v1, v16, v0", Target::gfx950);
}

// A memory that the addresses of these kernels point to.
struct WithMemory {
  explicit WithMemory(Checks checks) : m(Target::gfx942, checks) {
    m.memory.add(reinterpret_cast<u64>(bytes), sizeof(bytes), Allocation::Kind::host);
    m.see_memory();
    m.set_s64(4, reinterpret_cast<u64>(bytes));
    for (u32 lane = 0; lane < 64; ++lane) m.v(2)[lane] = 4 * lane;
    m.s(m0_register) = 0;
  }
  alignas(16) u8 bytes[1024] = {};
  Machine m;
};

std::optional<Fault> with_memory(const Lines& lines, bool Checks::* which) {
  WithMemory memory(only(which));
  return memory.m.fault(lines);
}

TEST(WaitStates, AroundMemory) {
  constexpr auto hazards_check = &Checks::hazards;
  EXPECT_EQ(
      with_memory({"v_readfirstlane_b32 s4, v0", "s_nop 3", "global_load_dword v1, v2, s[4:5]"},
                  hazards_check),
      Fault::wait_states);
  EXPECT_EQ(
      with_memory({"global_store_dwordx4 v2, v[8:11], s[4:5]", "s_nop 0", "v_mov_b32_e32 v9, 0"},
                  hazards_check),
      Fault::wait_states);
  EXPECT_EQ(
      with_memory({"global_store_dwordx4 v2, v[8:11], s[4:5]", "s_nop 1", "v_mov_b32_e32 v9, 0"},
                  hazards_check),
      std::nullopt);
  EXPECT_EQ(with_memory({"s_mov_b32 m0, 0", "global_load_lds_dword v2, s[4:5]"}, hazards_check),
            Fault::wait_states);
  EXPECT_EQ(with_memory({"s_mov_b32 m0, 0", "s_nop 0", "global_load_lds_dword v2, s[4:5]"},
                        hazards_check),
            std::nullopt);
}

TEST(Waits, ForLoads) {
  constexpr auto waits_check = &Checks::waits;
  const std::string load = "global_load_dword v8, v2, s[4:5]", use = "v_add_u32_e32 v1, v8, v8";
  const std::string other = "global_load_dword v9, v2, s[4:5]";
  EXPECT_EQ(with_memory({load, use}, waits_check), Fault::not_waited_for);
  EXPECT_EQ(with_memory({load, "v_mov_b32_e32 v8, 0"}, waits_check), Fault::not_waited_for);
  EXPECT_EQ(with_memory({load, "s_waitcnt vmcnt(0)", use}, waits_check), std::nullopt);
  // In order: one may be left if it is the other.
  EXPECT_EQ(with_memory({load, other, "s_waitcnt vmcnt(1)", use}, waits_check), std::nullopt);
  EXPECT_EQ(with_memory({other, load, "s_waitcnt vmcnt(1)", use}, waits_check),
            Fault::not_waited_for);
  EXPECT_EQ(with_memory({load, "s_waitcnt lgkmcnt(0)", use}, waits_check), Fault::not_waited_for);
  // A store counts, too.
  EXPECT_EQ(with_memory({load, "global_store_dword v2, v9, s[4:5]", "s_waitcnt vmcnt(1)", use},
                        waits_check),
            std::nullopt);
}

TEST(Waits, ForLdsAndScalars) {
  constexpr auto waits_check = &Checks::waits;
  EXPECT_EQ(with_memory({"ds_read_b32 v8, v2", "v_add_u32_e32 v1, v8, v8"}, waits_check),
            Fault::not_waited_for);
  EXPECT_EQ(with_memory({"ds_read_b32 v8, v2", "ds_read_b32 v9, v2", "s_waitcnt lgkmcnt(1)",
                         "v_add_u32_e32 v1, v8, v8"},
                        waits_check),
            std::nullopt);
  EXPECT_EQ(with_memory({"s_load_dword s8, s[4:5], 0x0", "s_mov_b32 s9, s8"}, waits_check),
            Fault::not_waited_for);
  // Scalar loads come back in any order: only 0 helps, for LDS among them as well.
  EXPECT_EQ(with_memory({"s_load_dword s8, s[4:5], 0x0", "s_load_dword s9, s[4:5], 0x0",
                         "s_waitcnt lgkmcnt(1)", "s_mov_b32 s10, s8"},
                        waits_check),
            Fault::not_waited_for);
  EXPECT_EQ(with_memory({"ds_read_b32 v8, v2", "s_load_dword s9, s[4:5], 0x0",
                         "s_waitcnt lgkmcnt(1)", "v_add_u32_e32 v1, v8, v8"},
                        waits_check),
            Fault::not_waited_for);
}

TEST(Waits, ForDma) {
  const Checks checks = Checks::parse("waits,races");
  for (const bool waits : {false, true}) {
    WithMemory memory(checks);
    Lines lines = {"global_load_lds_dword v2, s[4:5]"};
    if (waits) lines.push_back("s_waitcnt vmcnt(0)");
    lines.push_back("ds_read_b32 v8, v2");
    const auto found = memory.m.fault(lines);
    if (waits) {
      EXPECT_EQ(found, std::nullopt);
    } else {
      EXPECT_EQ(found, Fault::not_waited_for);
    }
  }
}

// Two waves at the same places.
std::optional<Fault> race(const std::string& first, const std::string& second,
                          bool barrier = false) {
  Checks checks = only(&Checks::races);
  Machine m(Target::gfx942, checks, 2);
  for (u32 w = 0; w < 2; ++w) {
    for (u32 lane = 0; lane < 64; ++lane) m.v(2, w)[lane] = 16 * lane;
  }
  const auto one = m.fault({first}, 0);
  if (one) return one;
  if (barrier) {
    m.run("s_waitcnt lgkmcnt(0)", 0);
    m.lds().next_epoch();
  }
  return m.fault({second}, 1);
}

TEST(Races, BetweenWaves) {
  EXPECT_EQ(race("ds_write_b32 v2, v3", "ds_read_b32 v4, v2"), Fault::race);
  EXPECT_EQ(race("ds_read_b32 v4, v2", "ds_write_b32 v2, v3"), Fault::race);
  EXPECT_EQ(race("ds_write_b32 v2, v3", "ds_write_b8 v2, v3 offset:3"), Fault::race);
  EXPECT_EQ(race("ds_write_b128 v2, v[4:7]", "ds_read_u8 v4, v2 offset:15"), Fault::race);
  EXPECT_EQ(race("ds_write_b96 v2, v[4:6]", "ds_read_b32 v4, v2 offset:8"), Fault::race);
  EXPECT_EQ(race("ds_read_b32 v4, v2", "ds_read_b32 v4, v2"), std::nullopt);
  EXPECT_EQ(race("ds_write_b16 v2, v3", "ds_write_b16 v2, v3 offset:2"), std::nullopt);
  EXPECT_EQ(race("ds_write_b96 v2, v[4:6]", "ds_read_b32 v4, v2 offset:12"), std::nullopt);
  EXPECT_EQ(race("ds_write_b32 v2, v3", "ds_read_b32 v4, v2", true), std::nullopt);
  EXPECT_EQ(race("ds_add_u32 v2, v3", "ds_add_u32 v2, v3"), std::nullopt);
  EXPECT_EQ(race("ds_add_u32 v2, v3", "ds_write_b32 v2, v3"), Fault::race);
}

TEST(Races, BetweenLanes) {
  Machine m(Target::gfx942, only(&Checks::races));
  for (u32 lane = 0; lane < 64; ++lane) {
    m.v(2)[lane] = 4 * (lane / 2);
    m.v(3)[lane] = lane / 2;
    m.v(4)[lane] = lane;
  }
  EXPECT_EQ(m.fault({"ds_write_b32 v2, v3"}), std::nullopt);  // the same value
  EXPECT_EQ(m.fault({"ds_write_b32 v2, v4"}), Fault::race);
}

TEST(Bounds, LdsAndScratch) {
  Machine m(Target::gfx942, Checks::none());  // always
  std::memset(m.v(2), 0, sizeof(Row));
  m.v(2)[9] = 4093;
  EXPECT_EQ(m.fault({"ds_read_b32 v3, v2"}), Fault::out_of_bounds);
  EXPECT_EQ(m.fault({"ds_read_u8 v3, v2"}), std::nullopt);
  EXPECT_EQ(m.fault({"scratch_store_dword off, v3, off offset:256"}), Fault::out_of_bounds);
  EXPECT_EQ(m.fault({"scratch_store_dword off, v3, off offset:252"}), std::nullopt);
}

TEST(Checks, ByName) {
  const Checks some = Checks::parse("races,waits");
  EXPECT_TRUE(some.races && some.waits);
  EXPECT_FALSE(some.bounds || some.undefined || some.hazards || some.barriers);
  EXPECT_TRUE(Checks::parse("all").hazards);
  EXPECT_FALSE(Checks::parse("none").bounds);
  EXPECT_THROW(Checks::parse("everything"), Error);
}

}  // namespace
}  // namespace instinct
