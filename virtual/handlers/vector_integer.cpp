// Vector integer arithmetic and logic ("CDNA3 ISA", chapter "Instructions": VOP1, VOP2, VOP3A;
// "CDNA4 ISA" for those on gfx950 only).
#include "virtual/handlers/define.h"
#include "virtual/handlers/shadow.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr u8 gfx950_bit = 2;

i32 signed24(u32 value) { return static_cast<i32>(value << 8) >> 8; }
u32 unsigned24(u32 value) { return value & 0xffffff; }

template <class T>
T min_of(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T max_of(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T median(T a, T b, T c) {
  return max_of(min_of(a, b), min_of(max_of(a, b), c));
}

u32 absolute_difference(u32 a, u32 b) { return a > b ? a - b : b - a; }

// Adds and subtracts saturate if `clamp` is set ("CDNA3 ISA", VOP3A "CLMP").
enum class Order { add, sub, subrev };
template <Order order, bool is_signed>
void add_lanes(u32* d, const u32* const* s, const LaneContext& c) {
  const u32* a = s[order == Order::subrev ? 1 : 0];
  const u32* b = s[order == Order::subrev ? 0 : 1];
  const u32 flip = order == Order::add ? 0 : ~0u;
  if (!c.in.clamp) {
#pragma GCC ivdep
    for (u32 i = 0; i < 64; ++i) d[i] = a[i] + (b[i] ^ flip) + (flip & 1);
    return;
  }
  for (u32 i = 0; i < 64; ++i) {
    if (is_signed) {
      const i64 x = static_cast<i32>(a[i]), y = static_cast<i32>(b[i]);
      const i64 sum = order == Order::add ? x + y : x - y;
      d[i] = static_cast<u32>(min_of<i64>(max_of<i64>(sum, INT32_MIN), INT32_MAX));
    } else {
      const i64 x = a[i], y = b[i];
      const i64 sum = order == Order::add ? x + y : x - y;
      d[i] = static_cast<u32>(min_of<i64>(max_of<i64>(sum, 0), UINT32_MAX));
    }
  }
}

template <Order order, bool is_signed>
void add16_lanes(u32* d, const u32* const* s, const LaneContext& c) {
  for (u32 i = 0; i < 64; ++i) {
    const u32 first = order == Order::subrev ? s[1][i] : s[0][i];
    const u32 second = order == Order::subrev ? s[0][i] : s[1][i];
    const i32 x = is_signed ? static_cast<i16>(first) : static_cast<i32>(first & 0xffff);
    const i32 y = is_signed ? static_cast<i16>(second) : static_cast<i32>(second & 0xffff);
    i32 sum = order == Order::add ? x + y : x - y;
    if (c.in.clamp) {
      sum = min_of(max_of(sum, is_signed ? INT16_MIN : 0), is_signed ? INT16_MAX : UINT16_MAX);
    }
    d[i] = static_cast<u32>(sum) & 0xffff;
  }
}

template <Order order, bool is_signed>
Opcode add_op(std::string_view name) {
  Opcode opcode = vector_op(name, [](u32 a, u32 b) { return a + b; });
  opcode.kernel =
      reinterpret_cast<void (*)()>(static_cast<LaneKernel>(&add_lanes<order, is_signed>));
  return opcode;
}

template <Order order, bool is_signed>
Opcode add16_op(std::string_view name) {
  Opcode opcode =
      vector_op(name, [](u16 a, u16 b) { return static_cast<u16>(a + b); }, 0, shadow_low16);
  opcode.kernel =
      reinterpret_cast<void (*)()>(static_cast<LaneKernel>(&add16_lanes<order, is_signed>));
  return opcode;
}

void register_moves() {
  register_all(
      vector_op(
          "v_mov_b32", [](u32 a) { return a; }, 0, shadow_move),
      vector_op(
          "v_mov_b64", [](u64 a) { return a; }, 0, shadow_move64),
      vector_op(
          "v_accvgpr_read_b32", [](u32 a) { return a; }, 0, shadow_move),
      vector_op(
          "v_accvgpr_write_b32", [](u32 a) { return a; }, 0, shadow_move),
      vector_op(
          "v_accvgpr_mov_b32", [](u32 a) { return a; }, 0, shadow_move),
      vector_op(
          "v_not_b32", [](u32 a) { return ~a; }, 0, shadow_move),
      vector_op("v_bfrev_b32",
                [](u32 a) {
                  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
                  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
                  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
                  return __builtin_bswap32(a);
                }),
      // -1 if there is no such bit.
      vector_op("v_ffbh_u32", [](u32 a) { return a ? static_cast<u32>(__builtin_clz(a)) : ~0u; }),
      vector_op("v_ffbl_b32", [](u32 a) { return a ? static_cast<u32>(__builtin_ctz(a)) : ~0u; }),
      vector_op("v_ffbh_i32", [](u32 a) {
        const u32 x = a ^ (0 - (a >> 31));
        return x ? static_cast<u32>(__builtin_clz(x)) : ~0u;
      }));
}

void register_logic() {
  register_all(
      vector_op(
          "v_and_b32", [](u32 a, u32 b) { return a & b; }, 0, shadow_and),
      vector_op(
          "v_or_b32", [](u32 a, u32 b) { return a | b; }, 0, shadow_or),
      vector_op(
          "v_xor_b32", [](u32 a, u32 b) { return a ^ b; }, 0, shadow_xor),
      vector_op(
          "v_xnor_b32", [](u32 a, u32 b) { return ~(a ^ b); }, 0, shadow_xor),
      vector_op(
          "v_or3_b32", [](u32 a, u32 b, u32 c) { return a | b | c; }, 0, shadow_or3),
      vector_op(
          "v_and_or_b32", [](u32 a, u32 b, u32 c) { return (a & b) | c; }, 0, shadow_and_or),
      vector_op("v_xad_u32", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }),
      vector_op(
          "v_lshlrev_b32", [](u32 a, u32 b) { return b << (a & 31); }, 0, shadow_lshlrev),
      vector_op(
          "v_lshrrev_b32", [](u32 a, u32 b) { return b >> (a & 31); }, 0, shadow_lshrrev),
      vector_op(
          "v_ashrrev_i32", [](u32 a, i32 b) { return b >> (a & 31); }, 0, shadow_ashrrev),
      vector_op("v_lshlrev_b64", [](u32 a, u64 b) { return b << (a & 63); }),
      vector_op("v_lshrrev_b64", [](u32 a, u64 b) { return b >> (a & 63); }),
      vector_op("v_ashrrev_i64", [](u32 a, i64 b) { return b >> (a & 63); }),
      vector_op(
          "v_lshl_or_b32", [](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }, 0,
          shadow_lshl_or),
      vector_op("v_bfm_b32", [](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }),
      vector_op(
          "v_bfe_u32", [](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((1u << (c & 31)) - 1); },
          0, shadow_bfe_u32),
      vector_op(
          "v_bfe_i32",
          [](u32 a, u32 b, u32 c) {
            const u32 width = c & 31;
            const u32 field = a >> (b & 31) & ((1u << width) - 1);
            const u32 sign = width ? 1u << (width - 1) : 0;
            return (field ^ sign) - sign;
          },
          0, shadow_bfe_i32),
      vector_op(
          "v_bfi_b32", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }, 0, shadow_bfi),
      vector_op(
          "v_alignbit_b32",
          [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); }, 0,
          shadow_alignbit),
      vector_op(
          "v_alignbyte_b32",
          [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3)); },
          0, shadow_alignbyte));
}

u32 perm_byte(u64 both, u32 selector) {
  if (selector < 8) return both >> 8 * selector & 0xff;
  if (selector < 12) return both >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
  return selector == 12 ? 0 : 0xff;
}

// Bit k of the table is the result where (a, b, c) are the bits of k ("CDNA4 ISA", V_BITOP3_B32).
// The table is spread over op_sel-like modifiers, which LLVM prints as bitop3:.
void bitop3_lanes(u32* d, const u32* const* s, const LaneContext& c) {
  const u32 table = c.in.bitop3;
  for (u32 i = 0; i < 64; ++i) {
    u32 bits = 0;
    for (u32 k = 0; k < 8; ++k) {
      const u32 term = (k & 4 ? s[0][i] : ~s[0][i]) & (k & 2 ? s[1][i] : ~s[1][i]) &
                       (k & 1 ? s[2][i] : ~s[2][i]);
      bits |= table >> k & 1 ? term : 0;
    }
    d[i] = bits;
  }
}

void shadow_bitop3(u32* d, const u32* const*, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) d[i] = u[0][i] | u[1][i] | u[2][i];
}

void register_bytes() {
  Opcode bitop3 =
      vector_op("v_bitop3_b32", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; }, 0, shadow_bitop3);
  bitop3.kernel = reinterpret_cast<void (*)()>(static_cast<LaneKernel>(&bitop3_lanes));
  bitop3.targets = gfx950_bit;
  register_all(
      bitop3,
      vector_op(
          "v_perm_b32",
          [](u32 a, u32 b, u32 c) {
            const u64 both = u64{a} << 32 | b;
            u32 bits = 0;
            for (u32 k = 0; k < 4; ++k) bits |= perm_byte(both, c >> 8 * k & 0xff) << 8 * k;
            return bits;
          },
          0, shadow_perm),
      vector_op("v_lerp_u8",
                [](u32 a, u32 b, u32 c) {
                  u32 bits = 0;
                  for (u32 k = 0; k < 32; k += 8) {
                    bits |= ((a >> k & 0xff) + (b >> k & 0xff) + (c >> k & 1)) >> 1 << k;
                  }
                  return bits;
                }),
      vector_op("v_sad_u32", [](u32 a, u32 b, u32 c) { return absolute_difference(a, b) + c; }),
      vector_op("v_sad_u16",
                [](u32 a, u32 b, u32 c) {
                  return absolute_difference(a & 0xffff, b & 0xffff) +
                         absolute_difference(a >> 16, b >> 16) + c;
                }),
      vector_op("v_sad_u8",
                [](u32 a, u32 b, u32 c) {
                  for (u32 k = 0; k < 32; k += 8) {
                    c += absolute_difference(a >> k & 0xff, b >> k & 0xff);
                  }
                  return c;
                }),
      vector_op("v_sad_hi_u8",
                [](u32 a, u32 b, u32 c) {
                  u32 sum = 0;
                  for (u32 k = 0; k < 32; k += 8) {
                    sum += absolute_difference(a >> k & 0xff, b >> k & 0xff);
                  }
                  return (sum << 16) + c;
                }),
      vector_op("v_msad_u8",
                [](u32 a, u32 b, u32 c) {
                  for (u32 k = 0; k < 32; k += 8) {
                    const u32 y = b >> k & 0xff;
                    if (y) c += absolute_difference(a >> k & 0xff, y);
                  }
                  return c;
                }),
      vector_op("v_bcnt_u32_b32", [](u32 a, u32 b) {
        a -= a >> 1 & 0x55555555;
        a = (a & 0x33333333) + (a >> 2 & 0x33333333);
        return (((a + (a >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24) + b;
      }));
}

void register_arithmetic() {
  register_all(
      add_op<Order::add, false>("v_add_u32"), add_op<Order::sub, false>("v_sub_u32"),
      add_op<Order::subrev, false>("v_subrev_u32"), add_op<Order::add, true>("v_add_i32"),
      add_op<Order::sub, true>("v_sub_i32"),
      vector_op("v_add3_u32", [](u32 a, u32 b, u32 c) { return a + b + c; }),
      vector_op("v_lshl_add_u32", [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }),
      vector_op("v_add_lshl_u32", [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }),
      vector_op("v_lshl_add_u64", [](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }),
      vector_op("v_mul_lo_u32", [](u32 a, u32 b) { return a * b; }),
      vector_op("v_mul_hi_u32", [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }),
      vector_op("v_mul_hi_i32",
                [](i32 a, i32 b) { return static_cast<u32>(static_cast<u64>(i64{a} * b) >> 32); }),
      vector_op("v_mul_u32_u24", [](u32 a, u32 b) { return unsigned24(a) * unsigned24(b); }),
      vector_op(
          "v_mul_hi_u32_u24",
          [](u32 a, u32 b) { return static_cast<u32>(u64{unsigned24(a)} * unsigned24(b) >> 32); }),
      vector_op("v_mul_i32_i24",
                [](u32 a, u32 b) { return static_cast<u32>(i64{signed24(a)} * signed24(b)); }),
      vector_op("v_mul_hi_i32_i24",
                [](u32 a, u32 b) {
                  return static_cast<u32>(static_cast<u64>(i64{signed24(a)} * signed24(b)) >> 32);
                }),
      vector_op("v_mad_u32_u24",
                [](u32 a, u32 b, u32 c) { return unsigned24(a) * unsigned24(b) + c; }),
      vector_op("v_mad_i32_i24", [](u32 a, u32 b, u32 c) {
        return static_cast<u32>(i64{signed24(a)} * signed24(b)) + c;
      }));
}

void register_minima() {
  register_all(vector_op("v_min_u32", [](u32 a, u32 b) { return min_of(a, b); }),
               vector_op("v_max_u32", [](u32 a, u32 b) { return max_of(a, b); }),
               vector_op("v_min_i32", [](i32 a, i32 b) { return min_of(a, b); }),
               vector_op("v_max_i32", [](i32 a, i32 b) { return max_of(a, b); }),
               vector_op("v_min3_u32", [](u32 a, u32 b, u32 c) { return min_of(min_of(a, b), c); }),
               vector_op("v_max3_u32", [](u32 a, u32 b, u32 c) { return max_of(max_of(a, b), c); }),
               vector_op("v_med3_u32", [](u32 a, u32 b, u32 c) { return median(a, b, c); }),
               vector_op("v_min3_i32", [](i32 a, i32 b, i32 c) { return min_of(min_of(a, b), c); }),
               vector_op("v_max3_i32", [](i32 a, i32 b, i32 c) { return max_of(max_of(a, b), c); }),
               vector_op("v_med3_i32", [](i32 a, i32 b, i32 c) { return median(a, b, c); }),
               vector_op(
                   "v_min_u16", [](u16 a, u16 b) { return min_of(a, b); }, 0, shadow_low16),
               vector_op(
                   "v_max_u16", [](u16 a, u16 b) { return max_of(a, b); }, 0, shadow_low16),
               vector_op(
                   "v_min_i16", [](i16 a, i16 b) { return min_of(a, b); }, 0, shadow_low16),
               vector_op("v_max_i16", [](i16 a, i16 b) { return max_of(a, b); }, 0, shadow_low16));
}

// 16-bit results: those of GFX8 clear the other half, those new in GFX9 keep it (LLVM,
// GCNSubtarget::zeroesHigh16BitsOfDest).
void register_halves() {
  register_all(
      add16_op<Order::add, false>("v_add_u16"), add16_op<Order::sub, false>("v_sub_u16"),
      add16_op<Order::subrev, false>("v_subrev_u16"), add16_op<Order::add, true>("v_add_i16"),
      add16_op<Order::sub, true>("v_sub_i16"),
      vector_op(
          "v_mul_lo_u16", [](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); }, 0,
          shadow_low16),
      vector_op(
          "v_lshlrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }, 0,
          shadow_low16),
      vector_op(
          "v_lshrrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); }, 0,
          shadow_low16),
      vector_op(
          "v_ashrrev_i16", [](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }, 0,
          shadow_low16),
      vector_op(
          "v_mad_u16", [](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); },
          keeps_high, shadow_low16),
      vector_op(
          "v_mad_i16", [](i16 a, i16 b, i16 c) { return static_cast<i16>(a * b + c); }, keeps_high,
          shadow_low16),
      vector_op(
          "v_mad_legacy_u16", [](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); },
          0, shadow_low16),
      vector_op(
          "v_mad_legacy_i16", [](i16 a, i16 b, i16 c) { return static_cast<i16>(a * b + c); }, 0,
          shadow_low16),
      vector_op(
          "v_min3_u16", [](u16 a, u16 b, u16 c) { return min_of(min_of(a, b), c); }, keeps_high,
          shadow_low16),
      vector_op(
          "v_max3_u16", [](u16 a, u16 b, u16 c) { return max_of(max_of(a, b), c); }, keeps_high,
          shadow_low16),
      vector_op(
          "v_med3_u16", [](u16 a, u16 b, u16 c) { return median(a, b, c); }, keeps_high,
          shadow_low16),
      vector_op(
          "v_min3_i16", [](i16 a, i16 b, i16 c) { return min_of(min_of(a, b), c); }, keeps_high,
          shadow_low16),
      vector_op(
          "v_max3_i16", [](i16 a, i16 b, i16 c) { return max_of(max_of(a, b), c); }, keeps_high,
          shadow_low16),
      vector_op(
          "v_med3_i16", [](i16 a, i16 b, i16 c) { return median(a, b, c); }, keeps_high,
          shadow_low16));
}

}  // namespace

void register_vector_integer() {
  register_moves();
  register_logic();
  register_bytes();
  register_arithmetic();
  register_minima();
  register_halves();
}

}  // namespace instinct::INSTINCT_LEVEL
