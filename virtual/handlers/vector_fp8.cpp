// Conversions of 8-, 6- and 4-bit floats ("CDNA3 ISA", V_CVT_PK_FP8_F32 and the like; "CDNA4 ISA",
// V_CVT_SCALEF32_*). gfx942 has the FNUZ formats, gfx950 the OCP ones.
#include "virtual/semantics/fp8.h"

#include "virtual/handlers/define.h"
#include "virtual/handlers/shadow.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr u8 gfx942_bit = 1, gfx950_bit = 2;

Overflow overflow(const LaneContext& c) {
  return saturates(c.mode) ? Overflow::saturate : Overflow::natural;
}

template <class F>
void add(std::string_view name, F f, u8 targets, u16 flags = 0, ShadowKernel shadow = nullptr) {
  Opcode opcode = vector_op(name, f, flags, shadow);
  opcode.flags &= static_cast<u16>(~float_result);
  opcode.targets = targets;
  register_opcode(opcode);
}

// Which bits of the old destination stay: the half or byte that op_sel leaves alone.
u32 kept_half(const Instruction& in, u32 bit) { return in.op_sel >> bit & 1 ? 0xffff : 0xffff0000; }
template <u32 select_bit, u32 old_source>
void shadow_into_half(u32* d, const u32* const*, const u32* const* u, const LaneContext& c) {
  const u32 kept = kept_half(c.in, select_bit);
  for (u32 i = 0; i < 64; ++i) {
    u32 any = 0;
    for (u32 k = 0; k < old_source; ++k) any |= u[k][i];
    d[i] = (u[old_source][i] & kept) | (any ? ~kept : 0);
  }
}

// Two floats to two bytes, in the half that op_sel[2] names.
template <Format format>
void register_pack(std::string_view pack, std::string_view stochastic, u8 target) {
  add(
      pack,
      [](const LaneContext& c, float a, float b, u32 old) {
        const bool high = c.in.op_sel >> 2 & 1;
        return insert_half(old, high, pack_bytes<format>(a, b, overflow(c)));
      },
      target, reads_dst, shadow_into_half<2, 2>);
  // One byte, which op_sel[3:2] names.
  add(
      stochastic,
      [](const LaneContext& c, float a, u32 seed, u32 old) {
        return insert_byte(old, c.in.op_sel >> 2 & 3,
                           narrow_stochastic<format>(a, seed, overflow(c)));
      },
      target, reads_dst);
}

// SDWA has already chosen byte or half.
template <Format format>
void register_unpack(std::string_view one, std::string_view two, u8 target) {
  add(one, [](u32 a) { return widen<format>(a & 0xff); }, target);
  add(
      two,
      [](u32 a) {
        return bits_of(widen<format>(a & 0xff)) | u64{bits_of(widen<format>(a >> 8 & 0xff))} << 32;
      },
      target);
}

// How halves of a word are floats.
struct F16 {
  static float widen_half(u32 bits) { return f32_of_f16(static_cast<u16>(bits)); }
  static u32 narrow_half(float x) { return f16_of_f32(x); }
};
struct Bf16 {
  static float widen_half(u32 bits) { return f32_of_bf16(static_cast<u16>(bits)); }
  static u32 narrow_half(float x) { return bf16_of_f32(x); }
};

// From a byte or half of source 0, times the scale. op_sel[1:0] names the byte, op_sel[0] the half.
template <Format format>
void register_scaled_bytes(std::string_view one, std::string_view two, std::string_view half,
                           std::string_view halves, std::string_view bhalves) {
  add(
      one,
      [](const LaneContext& c, u32 a, float scale) {
        return widen_scaled<format>(byte_of(a, c.in.op_sel & 3), scale);
      },
      gfx950_bit);
  add(
      two,
      [](const LaneContext& c, u32 a, float scale) {
        const u32 word = a >> (c.in.op_sel & 1 ? 16 : 0);
        return bits_of(widen_scaled<format>(word & 0xff, scale)) |
               u64{bits_of(widen_scaled<format>(word >> 8 & 0xff, scale))} << 32;
      },
      gfx950_bit);
  add(
      half,
      [](const LaneContext& c, u32 a, float scale, u32 old) {
        const float x = widen_scaled<format>(byte_of(a, c.in.op_sel & 3), scale);
        return insert_half(old, c.in.op_sel >> 2 & 1, f16_of_f32(x));
      },
      gfx950_bit, reads_dst);
  add(
      halves,
      [](const LaneContext& c, u32 a, float scale) {
        const u32 word = a >> (c.in.op_sel & 1 ? 16 : 0);
        return pack_halves(f16_of_f32(widen_scaled<format>(word & 0xff, scale)),
                           f16_of_f32(widen_scaled<format>(word >> 8 & 0xff, scale)));
      },
      gfx950_bit);
  add(
      bhalves,
      [](const LaneContext& c, u32 a, float scale) {
        const u32 word = a >> (c.in.op_sel & 1 ? 16 : 0);
        return pack_halves(bf16_of_f32(widen_scaled<format>(word & 0xff, scale)),
                           bf16_of_f32(widen_scaled<format>(word >> 8 & 0xff, scale)));
      },
      gfx950_bit);
}

// To two bytes, divided by the scale; the last op_sel bit names the half of the destination.
template <Format format>
void register_scaled_pack(std::string_view f32, std::string_view f16, std::string_view bf16) {
  add(
      f32,
      [](const LaneContext& c, float a, float b, float scale, u32 old) {
        const u32 low = narrow_scaled<format>(a, scale, overflow(c));
        const u32 high = narrow_scaled<format>(b, scale, overflow(c));
        return insert_half(old, c.in.op_sel >> 3 & 1, low | high << 8);
      },
      gfx950_bit, reads_dst, shadow_into_half<3, 3>);
  const auto from_halves = [](std::string_view name, auto kind) {
    using Kind = decltype(kind);
    add(
        name,
        [](const LaneContext& c, u32 a, float scale, u32 old) {
          const u32 low = narrow_scaled<format>(Kind::widen_half(a & 0xffff), scale, overflow(c));
          const u32 high = narrow_scaled<format>(Kind::widen_half(a >> 16), scale, overflow(c));
          return insert_half(old, c.in.op_sel >> 2 & 1, low | high << 8);
        },
        gfx950_bit, reads_dst, shadow_into_half<2, 2>);
  };
  from_halves(f16, F16{});
  from_halves(bf16, Bf16{});
}

template <Format format>
void register_scaled_stochastic(std::string_view f32, std::string_view f16, std::string_view bf16) {
  add(
      f32,
      [](const LaneContext& c, float a, u32 seed, float scale, u32 old) {
        return insert_byte(old, c.in.op_sel >> 2 & 3,
                           narrow_scaled_stochastic<format>(a, scale, seed, overflow(c)));
      },
      gfx950_bit, reads_dst);
  const auto from_half = [](std::string_view name, auto kind) {
    using Kind = decltype(kind);
    add(
        name,
        [](const LaneContext& c, u32 a, u32 seed, float scale, u32 old) {
          const float x = Kind::widen_half(c.in.op_sel & 1 ? a >> 16 : a & 0xffff);
          return insert_byte(old, c.in.op_sel >> 2 & 3,
                             narrow_scaled_stochastic<format>(x, scale, seed, overflow(c)));
        },
        gfx950_bit, reads_dst);
  };
  from_half(f16, F16{});
  from_half(bf16, Bf16{});
}

u32 fp4_byte(const LaneContext& c, u32 word) { return byte_of(word, c.in.op_sel & 3); }

// fp4: a byte holds two; op_sel[1:0] names it for reading, op_sel[3:2] for writing.
void register_fp4() {
  add(
      "v_cvt_scalef32_pk_f32_fp4",
      [](const LaneContext& c, u32 a, float scale) {
        const u32 byte = fp4_byte(c, a);
        return bits_of(widen_scaled<e2m1_format>(byte & 15, scale)) |
               u64{bits_of(widen_scaled<e2m1_format>(byte >> 4, scale))} << 32;
      },
      gfx950_bit);
  add(
      "v_cvt_scalef32_pk_f16_fp4",
      [](const LaneContext& c, u32 a, float scale) {
        const u32 byte = fp4_byte(c, a);
        return pack_halves(f16_of_f32(widen_scaled<e2m1_format>(byte & 15, scale)),
                           f16_of_f32(widen_scaled<e2m1_format>(byte >> 4, scale)));
      },
      gfx950_bit);
  add(
      "v_cvt_scalef32_pk_bf16_fp4",
      [](const LaneContext& c, u32 a, float scale) {
        const u32 byte = fp4_byte(c, a);
        return pack_halves(bf16_of_f32(widen_scaled<e2m1_format>(byte & 15, scale)),
                           bf16_of_f32(widen_scaled<e2m1_format>(byte >> 4, scale)));
      },
      gfx950_bit);
  add(
      "v_cvt_scalef32_pk_fp4_f32",
      [](const LaneContext& c, float a, float b, float scale, u32 old) {
        const u32 byte = narrow_scaled<e2m1_format>(a, scale) | narrow_scaled<e2m1_format>(b, scale)
                                                                    << 4;
        return insert_byte(old, c.in.op_sel >> 2 & 3, byte);
      },
      gfx950_bit, reads_dst);
}

void register_fp4_of_halves() {
  const auto from_halves = [](std::string_view name, std::string_view stochastic, auto kind) {
    using Kind = decltype(kind);
    add(
        name,
        [](const LaneContext& c, u32 a, float scale, u32 old) {
          const u32 byte = narrow_scaled<e2m1_format>(Kind::widen_half(a & 0xffff), scale) |
                           narrow_scaled<e2m1_format>(Kind::widen_half(a >> 16), scale) << 4;
          return insert_byte(old, c.in.op_sel >> 2 & 3, byte);
        },
        gfx950_bit, reads_dst);
    add(
        stochastic,
        [](const LaneContext& c, u32 a, u32 seed, float scale, u32 old) {
          const u32 byte =
              narrow_scaled_stochastic<e2m1_format>(Kind::widen_half(a & 0xffff), scale, seed) |
              narrow_scaled_stochastic<e2m1_format>(Kind::widen_half(a >> 16), scale, seed) << 4;
          return insert_byte(old, c.in.op_sel >> 2 & 3, byte);
        },
        gfx950_bit, reads_dst);
  };
  from_halves("v_cvt_scalef32_pk_fp4_f16", "v_cvt_scalef32_sr_pk_fp4_f16", F16{});
  from_halves("v_cvt_scalef32_pk_fp4_bf16", "v_cvt_scalef32_sr_pk_fp4_bf16", Bf16{});
  add(
      "v_cvt_scalef32_sr_pk_fp4_f32",
      [](const LaneContext& c, u64 a, u32 seed, float scale, u32 old) {
        const float low = float_of(static_cast<u32>(a)), high = float_of(static_cast<u32>(a >> 32));
        const u32 byte = narrow_scaled_stochastic<e2m1_format>(low, scale, seed) |
                         narrow_scaled_stochastic<e2m1_format>(high, scale, seed) << 4;
        return insert_byte(old, c.in.op_sel >> 2 & 3, byte);
      },
      gfx950_bit, reads_dst);
}

void register_stochastic_halves() {
  add(
      "v_cvt_sr_f16_f32",
      [](const LaneContext& c, float a, u32 seed, u32 old) {
        return insert_half(old, c.in.op_sel >> 2 & 1, v_cvt_sr_f16_f32(a, seed));
      },
      gfx950_bit, reads_dst, shadow_into_half<2, 2>);
  add(
      "v_cvt_sr_bf16_f32",
      [](const LaneContext& c, float a, u32 seed, u32 old) {
        return insert_half(old, c.in.op_sel >> 2 & 1, v_cvt_sr_bf16_f32(a, seed));
      },
      gfx950_bit, reads_dst, shadow_into_half<2, 2>);
}

}  // namespace

void register_vector_fp8() {
  register_pack<e4m3_fnuz_format>("v_cvt_pk_fp8_f32", "v_cvt_sr_fp8_f32", gfx942_bit);
  register_pack<e5m2_fnuz_format>("v_cvt_pk_bf8_f32", "v_cvt_sr_bf8_f32", gfx942_bit);
  register_pack<e4m3_format>("v_cvt_pk_fp8_f32", "v_cvt_sr_fp8_f32", gfx950_bit);
  register_pack<e5m2_format>("v_cvt_pk_bf8_f32", "v_cvt_sr_bf8_f32", gfx950_bit);
  register_unpack<e4m3_fnuz_format>("v_cvt_f32_fp8", "v_cvt_pk_f32_fp8", gfx942_bit);
  register_unpack<e5m2_fnuz_format>("v_cvt_f32_bf8", "v_cvt_pk_f32_bf8", gfx942_bit);
  register_unpack<e4m3_format>("v_cvt_f32_fp8", "v_cvt_pk_f32_fp8", gfx950_bit);
  register_unpack<e5m2_format>("v_cvt_f32_bf8", "v_cvt_pk_f32_bf8", gfx950_bit);
  register_scaled_bytes<e4m3_format>("v_cvt_scalef32_f32_fp8", "v_cvt_scalef32_pk_f32_fp8",
                                     "v_cvt_scalef32_f16_fp8", "v_cvt_scalef32_pk_f16_fp8",
                                     "v_cvt_scalef32_pk_bf16_fp8");
  register_scaled_bytes<e5m2_format>("v_cvt_scalef32_f32_bf8", "v_cvt_scalef32_pk_f32_bf8",
                                     "v_cvt_scalef32_f16_bf8", "v_cvt_scalef32_pk_f16_bf8",
                                     "v_cvt_scalef32_pk_bf16_bf8");
  register_scaled_pack<e4m3_format>("v_cvt_scalef32_pk_fp8_f32", "v_cvt_scalef32_pk_fp8_f16",
                                    "v_cvt_scalef32_pk_fp8_bf16");
  register_scaled_pack<e5m2_format>("v_cvt_scalef32_pk_bf8_f32", "v_cvt_scalef32_pk_bf8_f16",
                                    "v_cvt_scalef32_pk_bf8_bf16");
  register_scaled_stochastic<e4m3_format>("v_cvt_scalef32_sr_fp8_f32", "v_cvt_scalef32_sr_fp8_f16",
                                          "v_cvt_scalef32_sr_fp8_bf16");
  register_scaled_stochastic<e5m2_format>("v_cvt_scalef32_sr_bf8_f32", "v_cvt_scalef32_sr_bf8_f16",
                                          "v_cvt_scalef32_sr_bf8_bf16");
  register_fp4();
  register_fp4_of_halves();
  register_stochastic_halves();
}

}  // namespace instinct::INSTINCT_LEVEL
