// What the semantics work on: lane rows, rounding and denormal modes, modifiers. No wave, no
// memory.
#pragma once

#include <bit>
#include <cstdint>

namespace instinct {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

namespace semantics {

inline constexpr int kLanes = 64;

/// One 32-bit register of a wave: a word per lane. A 64-bit operand is two rows, low word first.
using Row = u32[kLanes];

/// MODE.FP_ROUND, two bits per width (CDNA3 ISA guide, "Mode register").
enum class Round : u8 { nearest_even = 0, plus_infinity = 1, minus_infinity = 2, zero = 3 };

/// The part of the MODE register that arithmetic depends on.
struct Mode {
  Round round_f32 = Round::nearest_even;
  Round round_f16_f64 = Round::nearest_even;
  bool f32_denormals_in = true;   // FP_DENORM bit 4: 0 flushes sources
  bool f32_denormals_out = true;  // FP_DENORM bit 5: 0 flushes results
  bool f16_f64_denormals_in = true;
  bool f16_f64_denormals_out = true;
  bool dx10_clamp = true;      // clamp makes a NaN 0
  bool ieee = true;            // min, max and med quieten a signalling NaN
  bool fp16_overflow = false;  // FP16_OVFL: an overflowing f16 or fp8 result is the largest finite
  bool ocp_fp8 = false;        // not of MODE: gfx950's fp8 is OCP (e4m3fn, e5m2), gfx942's FNUZ

  friend bool operator==(const Mode&, const Mode&) = default;
};

/// Decodes the MODE register (hwreg 1): FP_ROUND [3:0], FP_DENORM [7:4], DX10_CLAMP 8, IEEE 9,
/// FP16_OVFL 23. `gfx950` chooses the fp8 formats. At wave start: 0x2f0 unless the descriptor says
/// otherwise (LLVM AMDGPUUsage, compute_pgm_rsrc1).
constexpr Mode decode_mode(u32 mode, bool gfx950) {
  return {.round_f32 = static_cast<Round>(mode & 3),
          .round_f16_f64 = static_cast<Round>(mode >> 2 & 3),
          .f32_denormals_in = (mode >> 4 & 1) != 0,
          .f32_denormals_out = (mode >> 5 & 1) != 0,
          .f16_f64_denormals_in = (mode >> 6 & 1) != 0,
          .f16_f64_denormals_out = (mode >> 7 & 1) != 0,
          .dx10_clamp = (mode >> 8 & 1) != 0,
          .ieee = (mode >> 9 & 1) != 0,
          .fp16_overflow = (mode >> 23 & 1) != 0,
          .ocp_fp8 = gfx950};
}

/// VOP3 and VOP3P modifiers: bit i belongs to source i. Bit 3 of op_sel is the destination's.
struct Modifiers {
  u8 neg = 0;        // VOP3 neg, VOP3P neg_lo
  u8 abs = 0;        // VOP3 abs; for v_fma_mix*: neg_hi, which is abs there
  u8 neg_hi = 0;     // VOP3P
  u8 op_sel = 0;     // which half feeds the low result
  u8 op_sel_hi = 0;  // which half feeds the high result; the assembler's default is all ones
  u8 omod = 0;       // 1: times 2, 2: times 4, 3: divided by 2
  bool clamp = false;

  friend bool operator==(const Modifiers&, const Modifiers&) = default;
};

struct Context {
  Mode mode;
  Modifiers modifiers;
  u64 vcc = 0;  // v_div_fmas reads it; v_div_scale leaves its mask in `mask`
  u64 mask = 0;
};

}  // namespace semantics
}  // namespace instinct
