// Words to text: what is an instruction, and that no word brings LLVM down.
#include "virtual/disassembler.h"

#include <gtest/gtest.h>

#include <vector>

namespace instinct {
namespace {

const Target targets[] = {Target::gfx942, Target::gfx950};

// "SIZE TEXT" of the instruction at the start of `words`, "0" if there is none.
std::string decode(Target target, const std::vector<u32>& words) {
  std::string text = "what was there";
  const u32 size = Disassembler(target).decode(
      {reinterpret_cast<const u8*>(words.data()), words.size() * sizeof(u32)}, 0, text);
  return std::to_string(size) + text;
}

TEST(Disassembler, InstructionsAtTheEndOfTheCode) {
  for (const Target target : targets) {
    EXPECT_EQ(decode(target, {0x7e060280}), "4\tv_mov_b32_e32 v3, 0");
    EXPECT_EQ(decode(target, {0x7e0602ff, 0x12345}), "8\tv_mov_b32_e32 v3, 0x12345");
    EXPECT_EQ(decode(target, {0xd1cb0002, 0x04120501}), "8\tv_fma_f32 v2, v1, v2, v4");
    EXPECT_EQ(decode(target, {0xd1cb00ff, 0x07fe0501}), "8\tv_fma_f32 v255, v1, v2, v255");
    EXPECT_EQ(decode(target, {0x7e0202f9, 0x00050601}),
              "8\tv_mov_b32_sdwa v1, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1");
  }
}

TEST(Disassembler, InstructionsBeyondTheEndOfTheCode) {
  for (const Target target : targets) {
    EXPECT_EQ(decode(target, {0x7e0602ff}), "0");  // v_mov_b32 v3, literal
    EXPECT_EQ(decode(target, {0xd1cb0002}), "0");  // v_fma_f32
    EXPECT_EQ(decode(target, {0xbe8000ff}), "0");  // s_mov_b32 s0, literal
    EXPECT_EQ(decode(target, {0x7e0202f9}), "0");  // v_mov_b32_sdwa
  }
}

TEST(Disassembler, LiteralsWhereThereAreNone) {
  const std::vector<u32> words[] = {
      {0xd1cb0002, 0x041204ff},  // v_fma_f32, source 0
      {0xd1cb0002, 0x0411ff01},  // source 1
      {0xd1cb0002, 0x03fe0501},  // source 2
      {0xd3b00002, 0x1801fe01},  // v_pk_fma_f32
      {0xd3c43556, 0x13fdfeff},  // a matrix operation
      {0xd04200ff, 0x00020501},  // v_cmp_eq_f32, the destination
      {0xd28900ff, 0x00000501},  // v_readlane_b32, the destination
      {0xe05c1000, 0xff010200},  // buffer_load_dwordx4, the offset
      {0xeb733708, 0xff70d6ff},  // tbuffer
  };
  for (const Target target : targets) {
    for (std::vector<u32> code : words) {
      EXPECT_EQ(decode(target, code), "0");
      code.insert(code.end(), {0xbf800000, 0xbf800000, 0xbf800000});
      EXPECT_EQ(decode(target, code), "0");
    }
  }
}

TEST(Disassembler, ReservedSelections) {
  for (const Target target : targets) {
    EXPECT_EQ(decode(target, {0x020204f9, 0x06050601}).substr(0, 16), "8\tv_add_f32_sdwa");
    for (const u32 second : {0x06060701u, 0x06061e01u, 0x06070601u, 0x07060601u}) {
      EXPECT_EQ(decode(target, {0x020204f9, second}), "0");  // v_add_f32_sdwa
    }
    EXPECT_EQ(decode(target, {0x3f7b82f9, 0x6521ff03}), "0");
    EXPECT_EQ(decode(target, {0x7c8404f9, 0x06069c01}),  // these bits are a comparison's s[28:29]
              "8\tv_cmp_eq_f32_sdwa s[28:29], v1, v2 src0_sel:DWORD src1_sel:DWORD");
  }
}

TEST(Disassembler, MatricesThatAreConstants) {
  EXPECT_EQ(decode(Target::gfx950, {0xd3ad0400, 0x04020500}),
            "8\tv_mfma_f32_16x16x128_f8f6f4 v[0:3], v[0:3], v[2:9], v[0:3] cbsz:4");
  EXPECT_EQ(decode(Target::gfx950, {0xd3ac0000, 0x0002170a, 0xd3ad0c00, 0x04020500}).substr(0, 36),
            "16\tv_mfma_scale_f32_16x16x128_f8f6f4");
  EXPECT_EQ(decode(Target::gfx950, {0xd3ad04ff, 0x662126c9}), "0");
  EXPECT_EQ(decode(Target::gfx950, {0xd3ac0000, 0x0002170a, 0xd3ad0c00, 0x662126c9}), "0");
  EXPECT_EQ(decode(Target::gfx950, {0xd3ac0000, 0x0002170a, 0xd3ad0c00, 0x040202ff}), "0");
}

}  // namespace
}  // namespace instinct
