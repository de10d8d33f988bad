// Instructions and modifiers that move words between lanes.
#include <functional>

#include "machine.h"

namespace instinct {
namespace {

void fill(Machine& m) {
  for (u32 lane = 0; lane < 64; ++lane) {
    for (u32 r = 1; r < 8; ++r) m.v(r)[lane] = 100 * lane + r;
  }
}

struct Dpp {
  const char* name;
  std::function<int(int)> source;  // of a lane; -1: none
};
const Dpp dpp_cases[] = {
    {"quad_perm:[3,0,1,2]", [](int l) { return l / 4 * 4 + (l + 3) % 4; }},
    {"row_shl:3", [](int l) { return l % 16 + 3 < 16 ? l + 3 : -1; }},
    {"row_shr:5", [](int l) { return l % 16 >= 5 ? l - 5 : -1; }},
    {"row_ror:4", [](int l) { return l / 16 * 16 + (l + 12) % 16; }},
    {"wave_shl:1", [](int l) { return l < 63 ? l + 1 : -1; }},
    {"wave_rol:1", [](int l) { return (l + 1) % 64; }},
    {"wave_shr:1", [](int l) { return l - 1; }},
    {"wave_ror:1", [](int l) { return (l + 63) % 64; }},
    {"row_mirror", [](int l) { return l / 16 * 16 + 15 - l % 16; }},
    {"row_half_mirror", [](int l) { return l / 8 * 8 + 7 - l % 8; }},
    {"row_bcast:15", [](int l) { return l >= 16 ? l / 16 * 16 - 1 : -1; }},
    {"row_bcast:31", [](int l) { return l >= 32 ? 31 : -1; }},
    {"row_newbcast:6", [](int l) { return l / 16 * 16 + 6; }},
};

TEST(Lanes, Dpp) {
  for (const Dpp& dpp : dpp_cases) {
    for (const bool bound : {false, true}) {
      for (const u64 exec : {~u64{0}, u64{0xfff0ff0ff0ffff3c}}) {
        Machine m;
        fill(m);
        m.wave().set_exec(exec);
        m.run(std::string("v_mov_b32_dpp v2, v1 ") + dpp.name + " row_mask:0xd bank_mask:0xe" +
              (bound ? " bound_ctrl:1" : ""));
        for (int lane = 0; lane < 64; ++lane) {
          const int from = dpp.source(lane);
          const bool valid = from >= 0 && exec >> from & 1;
          const bool written = exec >> lane & 1 && 0xd >> lane / 16 & 1 &&
                               0xe >> lane / 4 % 4 & 1 && (valid || bound);
          const u32 value = valid ? m.v(1)[from] : 0;
          ASSERT_EQ(m.v(2)[lane], written ? value : 100u * lane + 2)
              << dpp.name << " lane " << lane;
        }
      }
    }
  }
}

// Only source 0 moves, and the destination may be a source.
TEST(Lanes, DppInArithmetic) {
  Machine m;
  fill(m);
  m.run("v_add_u32_dpp v1, v1, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1");
  for (u32 lane = 0; lane < 64; ++lane) {
    const u32 moved = lane % 16 ? 100 * (lane - 1) + 1 : 0;
    ASSERT_EQ(m.v(1)[lane], moved + 100 * lane + 1);
  }
}

TEST(Lanes, Sdwa) {
  Machine m;
  m.v(1)[0] = 0x80f1a234;
  m.v(2)[0] = 0x01020304;
  const std::pair<const char*, u32> cases[] = {
      {"dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD", 0x01020384},
      {"dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_0", 0x80f5},
      {"dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_0", 0x3800},
      {"dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:WORD_0", 0xa5385678},
      {"dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:WORD_0 src1_sel:WORD_0", 0xffffa538}};
  for (const auto& [modifiers, expected] : cases) {
    m.v(3)[0] = 0x12345678;
    m.run(std::string("v_add_u32_sdwa v3, v1, v2 ") + modifiers);
    EXPECT_EQ(m.v(3)[0], expected) << modifiers;
  }
  m.run(
      "v_add_u32_sdwa v3, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 "
      "src1_sel:DWORD");
  EXPECT_EQ(m.v(3)[0], 0x01020304u + 0xffff80f1u);
}

TEST(Lanes, ToAndFromScalars) {
  Machine m;
  fill(m);
  m.s(4) = 70;  // modulo 64
  m.run("v_readlane_b32 s5, v3, s4");
  EXPECT_EQ(m.s(5), 603u);
  m.wave().set_exec(0xff00);
  m.run("v_readfirstlane_b32 s5, v3");
  EXPECT_EQ(m.s(5), 803u);
  m.run("v_writelane_b32 v3, s4, 2");  // whether or not the lane is active
  EXPECT_EQ(m.v(3)[2], 70u);
  EXPECT_EQ(m.v(3)[8], 803u);
  m.wave().set_exec(0);
  m.run("v_readfirstlane_b32 s5, v3");
  EXPECT_EQ(m.s(5), 3u);
}

TEST(Lanes, CountsBelow) {
  Machine m;
  m.set_s64(4, 0x8421f00f12345678);
  m.run("v_mbcnt_lo_u32_b32 v1, s4, 5");
  m.run("v_mbcnt_hi_u32_b32 v1, s5, v1");
  for (u32 lane = 0; lane < 64; ++lane) {
    const u64 below = m.s64(4) & ((u64{1} << lane) - 1);
    ASSERT_EQ(m.v(1)[lane], 5u + std::popcount(below));
  }
}

TEST(Lanes, Swaps) {
  Machine m(Target::gfx950);
  fill(m);
  m.wave().set_exec(0xf);
  m.run("v_swap_b32 v1, v2");
  EXPECT_EQ(m.v(1)[3], 302u);
  EXPECT_EQ(m.v(2)[3], 301u);
  EXPECT_EQ(m.v(1)[4], 401u);
  m.wave().set_exec(~u64{0});
  for (const u32 size : {16u, 32u}) {
    fill(m);
    m.run("v_permlane" + std::to_string(size) + "_swap_b32_e32 v1, v2");
    for (u32 lane = 0; lane < 64; ++lane) {
      const bool upper = lane / size % 2;
      ASSERT_EQ(m.v(1)[lane], upper ? 100 * (lane - size) + 2 : 100 * lane + 1);
      ASSERT_EQ(m.v(2)[lane], upper ? 100 * lane + 2 : 100 * (lane + size) + 1);
    }
  }
}

TEST(Lanes, Permutes) {
  Machine m;
  fill(m);
  for (u32 lane = 0; lane < 64; ++lane) m.v(2)[lane] = 4 * ((5 * lane + 3) % 64) + 256 * (lane % 2);
  m.wave().set_exec(~u64{0x10});
  m.run("ds_bpermute_b32 v3, v2, v1");
  m.run("ds_permute_b32 v4, v2, v1 offset:4");
  for (u32 lane = 0; lane < 64; ++lane) {
    const u32 from = (5 * lane + 3) % 64, to = (5 * lane + 4) % 64;
    if (lane == 4) continue;
    ASSERT_EQ(m.v(3)[lane], from == 4 ? 0 : 100 * from + 1);
    ASSERT_EQ(m.v(4)[to], to == 4 ? 404 : 100 * lane + 1);  // lane 4 keeps what it had
  }
  EXPECT_EQ(m.v(4)[(5 * 4 + 4) % 64], 0u);  // nobody sends
}

// "CDNA3 ISA", DS_SWIZZLE_B32.
TEST(Lanes, Swizzles) {
  const std::pair<const char*, std::function<u32(u32)>> cases[] = {
      {"swizzle(SWAP,16)", [](u32 l) { return l ^ 16; }},
      {"swizzle(REVERSE,8)", [](u32 l) { return l ^ 7; }},
      {"swizzle(BROADCAST,8,5)", [](u32 l) { return l / 8 * 8 + 5; }},
      {"swizzle(QUAD_PERM,1,2,3,0)", [](u32 l) { return l / 4 * 4 + (l + 1) % 4; }},
      {"swizzle(BITMASK_PERM,\"01pip\")", [](u32 l) { return (l & 32) | ((l & 7) ^ 2) | 8; }}};
  for (const auto& [modifier, source] : cases) {
    Machine m;
    fill(m);
    m.run(std::string("ds_swizzle_b32 v2, v1 offset:") + modifier);
    for (u32 lane = 0; lane < 64; ++lane) {
      ASSERT_EQ(m.v(2)[lane], 100 * source(lane) + 1) << modifier << " lane " << lane;
    }
  }
}

}  // namespace
}  // namespace instinct
