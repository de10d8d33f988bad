// Definedness. What is said to be defined must not depend on what is undefined: for each vector
// instruction, undefined bits of the sources are flipped, and the defined bits of the result stay.
#include <set>

#include "machine.h"

namespace instinct {
namespace {

u32 bit_pattern(std::mt19937& random) {
  switch (random() % 4) {
    case 0: return 0;
    case 1: return 0xffu << 8 * (random() % 4);
    case 2: return 0xffffu << 16 * (random() % 2);
    default: return random() & random() & random();
  }
}

std::string registers(u32 first, u32 words) {
  if (words < 2) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + words - 1) + "]";
}

// The number of sources is not in the table: the shortest text that is executed for what it is.
u32 source_count(const Opcode& opcode) {
  static const std::set<std::string_view> unary = {
      "v_mov_b32",  "v_mov_b64",  "v_not_b32",          "v_bfrev_b32",         "v_ffbh_u32",
      "v_ffbl_b32", "v_ffbh_i32", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"};
  static const std::set<std::string_view> ternary = {"v_or3_b32",
                                                     "v_and_or_b32",
                                                     "v_lshl_or_b32",
                                                     "v_bfe_u32",
                                                     "v_bfe_i32",
                                                     "v_bfi_b32",
                                                     "v_alignbit_b32",
                                                     "v_alignbyte_b32",
                                                     "v_perm_b32",
                                                     "v_bitop3_b32",
                                                     "v_pk_fma_f16",
                                                     "v_pk_fma_f32",
                                                     "v_pk_mad_i16",
                                                     "v_pk_mad_u16",
                                                     "v_mad_u16",
                                                     "v_mad_i16",
                                                     "v_min3_u16",
                                                     "v_max3_u16",
                                                     "v_med3_u16",
                                                     "v_min3_i16",
                                                     "v_max3_i16",
                                                     "v_med3_i16",
                                                     "v_mad_legacy_u16",
                                                     "v_mad_legacy_i16",
                                                     "v_fma_f16",
                                                     "v_fma_legacy_f16",
                                                     "v_mad_f16",
                                                     "v_mad_legacy_f16",
                                                     "v_max3_f16",
                                                     "v_min3_f16",
                                                     "v_med3_f16",
                                                     "v_div_fixup_f16",
                                                     "v_div_fixup_legacy_f16",
                                                     "v_bitop3_b16",
                                                     "v_pk_minimum3_f16",
                                                     "v_pk_maximum3_f16",
                                                     "v_madak_f16",
                                                     "v_madmk_f16",
                                                     "v_cvt_scalef32_pk_fp8_f32",
                                                     "v_cvt_scalef32_pk_bf8_f32"};
  if (unary.contains(opcode.name)) return 1;
  if (ternary.contains(opcode.name)) return 3;
  const std::string_view name = opcode.name;
  if (name.starts_with("v_cvt_f32_ubyte") || name.starts_with("v_floor_f16") ||
      name.starts_with("v_ceil_f16") || name.starts_with("v_trunc_f16") ||
      name.starts_with("v_rndne_f16") || name.starts_with("v_fract_f16") ||
      name.starts_with("v_frexp") || name.starts_with("v_exp_f16") ||
      name.starts_with("v_log_f16") || name.starts_with("v_rcp_f16") ||
      name.starts_with("v_rsq_f16") || name.starts_with("v_sqrt_f16") ||
      name.starts_with("v_sin_f16") || name.starts_with("v_cos_f16") ||
      name.starts_with("v_cvt_f16_u16") || name.starts_with("v_cvt_f16_i16") ||
      name.starts_with("v_cvt_u16_f16") || name.starts_with("v_cvt_i16_f16") ||
      name.starts_with("v_cvt_norm"))
    return 1;
  return 2;
}

// Runs `text` on sources given, with undefined bits `u` of registers 2 to 9; leaves result and its
// undefined bits.
void run(Machine& m, const std::string& text, const Row (&values)[8], const Row (&undefined)[8],
         u32 words, Row (&result)[2], Row (&bits)[2]) {
  for (u32 r = 0; r < 8; ++r) {
    std::memcpy(m.v(2 + r), values[r].lane, sizeof(Row));
    std::memcpy(m.wave().undefined[2 + r].lane, undefined[r].lane, sizeof(Row));
    m.wave().dirty.set(2 + r);
  }
  ASSERT_NE(m.execute(text), nullptr) << text;
  for (u32 k = 0; k < words; ++k) {
    std::memcpy(result[k].lane, m.wave().vector[8 + k].lane, sizeof(Row));
    const bool dirty = m.wave().dirty.test(8 + k);
    if (dirty)
      std::memcpy(bits[k].lane, m.wave().undefined[8 + k].lane, sizeof(Row));
    else
      std::memset(bits[k].lane, 0, sizeof(Row));
  }
}

void check(const Opcode& opcode, std::mt19937& random) {
  Checks checks = Checks::none();
  checks.undefined = true;
  Machine m(Target::gfx950, checks);
  std::string text = std::string(opcode.name) + " " + registers(8, opcode.dst_words);
  for (u32 k = 0; k < source_count(opcode); ++k) {
    text += ", " + registers(2 + 2 * k, opcode.src_words[k]);
  }
  for (u32 round = 0; round < 4; ++round) {
    Row values[8], changed[8], undefined[8], result[2], again[2], bits[2], unused[2];
    for (u32 r = 0; r < 8; ++r) {
      for (u32 lane = 0; lane < 64; ++lane) {
        values[r].lane[lane] = sample(lane + 64 * round, r);
        undefined[r].lane[lane] = lane % 3 ? bit_pattern(random) : 0;
        changed[r].lane[lane] = values[r].lane[lane] ^ (undefined[r].lane[lane] & random());
      }
    }
    run(m, text, values, undefined, opcode.dst_words, result, bits);
    run(m, text, changed, undefined, opcode.dst_words, again, unused);
    for (u32 k = 0; k < opcode.dst_words; ++k) {
      for (u32 lane = 0; lane < 64; ++lane) {
        const u32 moved = result[k].lane[lane] ^ again[k].lane[lane];
        ASSERT_EQ(moved & ~bits[k].lane[lane], 0u) << text << " lane " << lane;
        // And without undefined sources nothing is undefined.
        if (lane % 3 == 0) {
          ASSERT_EQ(bits[k].lane[lane], 0u) << text << " lane " << lane;
        }
      }
    }
  }
}

TEST(Shadow, DefinedBitsDoNotDependOnUndefinedOnes) {
  std::mt19937 random(1);
  u32 checked = 0;
  for (const Opcode* opcode : all_opcodes(Target::gfx950)) {
    if (!opcode->shadow || opcode->unit == Unit::matrix) continue;
    const std::string_view name = opcode->name;
    if (name.starts_with("v_accvgpr") || name == "v_cvt_scalef32_pk_fp8_f16") continue;
    check(*opcode, random);
    ++checked;
  }
  EXPECT_GT(checked, 100u);
}

Checks undefined_only() {
  Checks checks = Checks::none();
  checks.undefined = true;
  return checks;
}

TEST(Shadow, FollowsValues) {
  Machine m(Target::gfx942, undefined_only());
  m.v(1);
  EXPECT_TRUE(m.wave().dirty.test(2));  // as at the start
  m.run("v_mov_b32_e32 v3, v2");
  EXPECT_TRUE(m.wave().dirty.test(3));
  m.run("v_and_b32_e32 v3, 0xff, v3");  // the upper bits are known now
  EXPECT_EQ(m.wave().undefined[3].lane[5], 0xffu);
  m.run("v_lshrrev_b32_e32 v3, 8, v3");
  EXPECT_FALSE(m.wave().dirty.test(3));
  m.wave().set_exec(0xff);
  m.run("v_mov_b32_e32 v2, v1");
  EXPECT_TRUE(m.wave().dirty.test(2));
  EXPECT_EQ(m.wave().undefined[2].lane[7], 0u);
  EXPECT_EQ(m.wave().undefined[2].lane[8], ~0u);
  m.run("v_cmp_eq_u32_e32 vcc, v2, v1");  // inactive lanes get 0, which is known
  EXPECT_EQ(m.wave().scalar_undefined[vcc_register], 0u);
}

TEST(Shadow, ScalarsFollow) {
  Machine m(Target::gfx942, undefined_only());
  m.s(4) = 0xff;
  m.run("s_and_b32 s5, s4, s60");
  EXPECT_EQ(m.wave().scalar_undefined[5], 0xffu);
  m.run("s_lshl_b32 s5, s5, 24");
  EXPECT_EQ(m.wave().scalar_undefined[5], 0xff000000u);
  m.run("s_or_b32 s5, s5, 1");
  EXPECT_FALSE(m.wave().scc_undefined);  // not zero whatever the rest is
  m.run("s_add_i32 s5, s5, 1");
  EXPECT_EQ(m.wave().scalar_undefined[5], ~0u);
  EXPECT_TRUE(m.wave().scc_undefined);
}

TEST(Shadow, LeavesThroughChecks) {
  const auto found = [](const std::vector<std::string>& lines) {
    Machine m(Target::gfx942, undefined_only());
    m.v(1);
    m.set_s64(4, 0x1000);
    return m.fault(lines);
  };
  constexpr auto expected_fault = Fault::undefined_value;
  EXPECT_EQ(found({"s_and_saveexec_b64 s[6:7], s[20:21]"}), expected_fault);
  EXPECT_EQ(found({"s_mov_b64 exec, s[20:21]"}), expected_fault);
  EXPECT_EQ(found({"s_cmp_eq_u32 s20, 0", "s_cbranch_scc1 1"}), expected_fault);
  EXPECT_EQ(found({"v_cmp_eq_u32_e32 vcc, v1, v2", "s_cbranch_vccnz 1"}), expected_fault);
  EXPECT_EQ(found({"v_readlane_b32 s6, v1, s20"}), expected_fault);
  EXPECT_EQ(found({"ds_read_b32 v3, v2"}), expected_fault);
  EXPECT_EQ(found({"s_load_dword s6, s[20:21], 0x0"}), expected_fault);
  EXPECT_EQ(found({"global_load_dword v3, v2, s[4:5]"}), expected_fault);
  EXPECT_EQ(found({"s_setpc_b64 s[20:21]"}), expected_fault);
  EXPECT_EQ(found({"v_mov_b32_e32 v1, 0", "ds_write_b32 v1, v2"}), std::nullopt);  // kept in LDS
}

TEST(Shadow, MatrixProducts) {
  Machine m(Target::gfx942, undefined_only());
  for (u32 r = 2; r < 6; ++r) std::memset(m.v(r), 0, sizeof(Row));
  m.run("v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0");
  EXPECT_FALSE(m.wave().dirty.any({8, 4}));
  m.run("v_mfma_f32_16x16x16_f16 v[12:15], v[2:3], v[4:5], v[20:23]");
  EXPECT_TRUE(m.wave().dirty.any({12, 4}));
  m.run("v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[24:25], 0");
  EXPECT_TRUE(m.wave().dirty.any({8, 4}));
}

}  // namespace
}  // namespace instinct
