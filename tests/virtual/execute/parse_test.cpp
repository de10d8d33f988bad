// What LLVM prints becomes operands and modifiers.
#include <gtest/gtest.h>

#include "virtual/instruction.h"
#include "virtual/opcode.h"

namespace instinct {
namespace {

Instruction parse(const char* text, Target target = Target::gfx942) {
  Instruction in = parse_instruction(text, target);
  EXPECT_NE(in.opcode, nullptr) << text;
  return in;
}

TEST(Parse, Registers) {
  const Instruction in = parse("v_lshl_add_u64 v[6:7], s[4:5], 0, v[2:3]");
  ASSERT_EQ(in.operand_count, 4);
  EXPECT_EQ(in.destinations, 1);
  EXPECT_TRUE(in.dst().is_vector());
  EXPECT_EQ(in.dst().first, 6);
  EXPECT_EQ(in.dst().count, 2);
  EXPECT_TRUE(in.src(0).is_scalar());
  EXPECT_EQ(in.src(0).first, 4);
  EXPECT_EQ(in.src(1).kind, Operand::Kind::constant);
  EXPECT_EQ(in.src(1).value, 0u);
  EXPECT_EQ(in.src(2).first, 2);
  EXPECT_TRUE(in.plain);
}

TEST(Parse, AccumulatorsFollowVectors) {
  const Instruction in = parse("v_mfma_f32_32x32x8_bf16 a[0:15], v[2:3], v[4:5], a[0:15]");
  EXPECT_EQ(in.dst().first, first_accumulator);
  EXPECT_EQ(in.dst().count, 16);
  EXPECT_EQ(in.passes, 8);
}

TEST(Parse, NamedScalars) {
  EXPECT_EQ(parse("s_mov_b64 exec, vcc").dst().first, exec_register);
  EXPECT_EQ(parse("s_mov_b32 m0, vcc_hi").src(0).first, vcc_register + 1);
  EXPECT_EQ(parse("s_mov_b64 s[0:1], src_shared_base").src(0).value >> 32, shared_aperture);
}

// "CDNA3 ISA": an inline constant has the format of its operand.
TEST(Parse, Constants) {
  EXPECT_EQ(parse("v_add_f32_e32 v0, 1.0, v1").src(0).value, 0x3f800000u);
  EXPECT_EQ(parse("v_add_f64 v[0:1], 1.0, v[2:3]").src(0).value, 0x3ff0000000000000u);
  EXPECT_EQ(parse("v_add_f16_e32 v0, 1.0, v1").src(0).value, 0x3c00u);
  EXPECT_EQ(parse("v_add_f16_e32 v0, -0.5, v1").src(0).value, 0xb800u);
  EXPECT_EQ(parse("v_mul_f32_e32 v0, 0.15915494, v1").src(0).value, 0x3e22f983u);
  EXPECT_EQ(parse("v_add_u32_e32 v0, -1, v1").src(0).value & 0xffffffff, 0xffffffffu);
  EXPECT_EQ(parse("v_add_u32_e32 v0, 0x80, v1").src(0).value, 0x80u);
  EXPECT_EQ(parse("v_add_f64 v[0:1], 0x40100000, v[2:3]").src(0).value, 0x4010000000000000u);
  EXPECT_EQ(parse("s_ashr_i64 s[0:1], 0x80000000, 1").src(0).value, 0xffffffff80000000u);
  EXPECT_EQ(parse("s_mov_b64 s[0:1], 0x80000000").src(0).value, 0x80000000u);
  EXPECT_EQ(parse("s_addc_u32 s1, s1, lit(0x0)").src(1).value, 0u);
}

TEST(Parse, SourceModifiers) {
  const Instruction in = parse("v_fma_f32 v0, -v1, |v2|, -|v3| clamp mul:2");
  EXPECT_TRUE(in.src(0).negate && !in.src(0).absolute);
  EXPECT_TRUE(!in.src(1).negate && in.src(1).absolute);
  EXPECT_TRUE(in.src(2).negate && in.src(2).absolute);
  EXPECT_TRUE(in.clamp);
  EXPECT_EQ(in.omod, 1);
  EXPECT_FALSE(in.plain);
}

TEST(Parse, Dpp) {
  const Instruction in =
      parse("v_add_u32_dpp v2, v2, v2 row_shr:3 row_mask:0xa bank_mask:0xc bound_ctrl:1");
  EXPECT_TRUE(in.dpp.used && in.dpp.bound_ctrl);
  EXPECT_EQ(in.dpp.control, 0x113);
  EXPECT_EQ(in.dpp.row_mask, 0xa);
  EXPECT_EQ(in.dpp.bank_mask, 0xc);
  EXPECT_EQ(
      parse("v_mov_b32_dpp v0, v4 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf").dpp.control,
      0x1b);
  EXPECT_EQ(parse("v_mov_b32_dpp v0, v4 row_bcast:31 row_mask:0xc bank_mask:0xf").dpp.control,
            0x143);
}

TEST(Parse, Sdwa) {
  const Instruction in = parse(
      "v_lshlrev_b32_sdwa v2, v1, sext(v2) dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE "
      "src0_sel:DWORD src1_sel:WORD_1");
  EXPECT_TRUE(in.sdwa.used);
  EXPECT_EQ(in.sdwa.dst, 1);
  EXPECT_EQ(in.sdwa.unused, 2);
  EXPECT_EQ(in.sdwa.source[0], 6);
  EXPECT_EQ(in.sdwa.source[1], 5);
  EXPECT_TRUE(in.src(1).sign_extend);
}

TEST(Parse, PackedSelections) {
  EXPECT_EQ(parse("v_pk_fma_f16 v1, v1, v2, v1").op_sel_hi, 0xf);
  EXPECT_EQ(parse("v_pk_fma_f32 v[0:1], v[2:3], 1.0, v[4:5] op_sel_hi:[1,0,1]").op_sel_hi, 5);
  EXPECT_EQ(parse("v_fma_mix_f32 v0, v1, v2, v3").op_sel_hi, 0);
  EXPECT_EQ(parse("v_fma_mix_f32 v0, v1, v2, v3 op_sel_hi:[1,1,0]").op_sel_hi, 3);
  EXPECT_EQ(parse("v_pk_add_f16 v0, v1, v2 neg_lo:[0,1] neg_hi:[1,0]").neg_lo, 2);
}

TEST(Parse, Memory) {
  const Instruction load = parse("global_load_dwordx4 v[28:31], v2, s[4:5] offset:-16 sc0 nt");
  EXPECT_EQ(load.offset, -16);
  EXPECT_TRUE(load.sc0 && load.nt && !load.sc1);
  EXPECT_EQ(load.writes, 1);
  const Instruction store = parse("global_store_dword v[18:19], v10, off offset:64");
  EXPECT_EQ(store.destinations, 0);
  EXPECT_EQ(store.operand[2].kind, Operand::Kind::off);
  const Instruction dma = parse("buffer_load_dword v0, s[0:3], 0 offen lds");
  EXPECT_EQ(dma.destinations, 0);
  EXPECT_TRUE(dma.lds && dma.offen);
  EXPECT_EQ(parse("global_atomic_add v2, v0, v2, s[12:13] sc0").destinations, 1);
  EXPECT_EQ(parse("global_atomic_add v1, v2, s[0:1]").destinations, 0);
  const Instruction pair = parse("ds_read2_b64 v[22:25], v55 offset0:8 offset1:12");
  EXPECT_EQ(pair.offset0, 8);
  EXPECT_EQ(pair.offset1, 12);
  EXPECT_EQ(parse("ds_swizzle_b32 v1, v1 offset:swizzle(SWAP,16)").offset, 0x401f);
}

TEST(Parse, WaitsAndRegistersOfTheHardware) {
  const Instruction wait = parse("s_waitcnt vmcnt(3) lgkmcnt(6)");
  EXPECT_EQ(wait.waits.vm, 3);
  EXPECT_EQ(wait.waits.lgkm, 6);
  EXPECT_EQ(wait.waits.exp, 7);
  EXPECT_EQ(parse("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3").operand[0].value,
            1u | 4u << 6 | 1u << 11);
}

TEST(Parse, UnknownIsNotAnError) {
  EXPECT_EQ(parse_instruction("v_frobnicate_b32 v0, v1", Target::gfx942).opcode, nullptr);
  EXPECT_EQ(parse_instruction("", Target::gfx942).opcode, nullptr);
  const char* misaligned =
      "global_store_dwordx2 v3, a[7:8]/*Invalid register, operand has 'AV_64_Align2' register "
      "class*/, s[2:3]";
  EXPECT_EQ(parse_instruction(misaligned, Target::gfx942).opcode, nullptr);
  EXPECT_EQ(parse_instruction("v_bitop3_b32 v0, v1, v2, v3", Target::gfx942).opcode, nullptr);
  EXPECT_NE(parse_instruction("v_bitop3_b32 v0, v1, v2, v3", Target::gfx950).opcode, nullptr);
}

}  // namespace
}  // namespace instinct
