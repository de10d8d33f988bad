// Conversions ("CDNA3 ISA", VOP1, VOP2, VOP3A: V_CVT_*).
#include "virtual/semantics/convert.h"

#include "virtual/handlers/define.h"
#include "virtual/handlers/shadow.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr u8 gfx950_bit = 2;

Opcode on_gfx950(Opcode opcode) {
  opcode.targets = gfx950_bit;
  return opcode;
}

// The low half of the result comes from source 0, the high one from source 1.
void shadow_pair(u32* d, const u32* const*, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) d[i] = (u[0][i] ? 0xffff : 0) | (u[1][i] ? 0xffff0000 : 0);
}
void shadow_pack(u32* d, const u32* const*, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) d[i] = (u[0][i] & 0xffff) | u[1][i] << 16;
}
template <u32 byte>
void shadow_ubyte(u32* d, const u32* const*, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) d[i] = u[0][i] >> 8 * byte & 0xff ? ~0u : 0;
}

template <u32 byte>
Opcode ubyte(std::string_view name) {
  return vector_op(name, [](u32 a) { return v_cvt_f32_ubyte(a, byte); }, 0, shadow_ubyte<byte>);
}

void register_numbers() {
  register_all(
      vector_op("v_cvt_i32_f32", [](float a) { return v_cvt_i32_f32(a); }),
      vector_op("v_cvt_u32_f32", [](float a) { return v_cvt_u32_f32(a); }),
      vector_op("v_cvt_i32_f64", [](double a) { return v_cvt_i32_f64(a); }),
      vector_op("v_cvt_u32_f64", [](double a) { return v_cvt_u32_f64(a); }),
      vector_op("v_cvt_rpi_i32_f32", [](float a) { return v_cvt_rpi_i32_f32(a); }),
      vector_op("v_cvt_flr_i32_f32", [](float a) { return v_cvt_flr_i32_f32(a); }),
      vector_op("v_cvt_f32_i32", [](i32 a) { return v_cvt_f32_i32(a); }),
      vector_op("v_cvt_f32_u32", [](u32 a) { return v_cvt_f32_u32(a); }),
      vector_op("v_cvt_f64_i32", [](i32 a) { return v_cvt_f64_i32(a); }),
      vector_op("v_cvt_f64_u32", [](u32 a) { return v_cvt_f64_u32(a); }),
      vector_op("v_cvt_f32_f64", [](double a) { return v_cvt_f32_f64(a); }),
      vector_op("v_cvt_f64_f32", [](float a) { return v_cvt_f64_f32(a); }),
      vector_op("v_cvt_off_f32_i4", [](u32 a) { return v_cvt_off_f32_i4(a); }),
      ubyte<0>("v_cvt_f32_ubyte0"), ubyte<1>("v_cvt_f32_ubyte1"), ubyte<2>("v_cvt_f32_ubyte2"),
      ubyte<3>("v_cvt_f32_ubyte3"),
      vector_op("v_cvt_f16_f32", [](float a) { return Half{f16_of_f32(a)}; }),
      vector_op("v_cvt_f32_f16", [](Half a) { return f32_of_f16(a.bits); }),
      vector_op(
          "v_cvt_f16_u16", [](u16 a) { return Half{v_cvt_f16_u16(a)}; }, 0, shadow_low16),
      vector_op(
          "v_cvt_f16_i16", [](i16 a) { return Half{v_cvt_f16_i16(a)}; }, 0, shadow_low16),
      vector_op(
          "v_cvt_u16_f16", [](Half a) { return v_cvt_u16_f16(a.bits); }, 0, shadow_low16),
      vector_op(
          "v_cvt_i16_f16", [](Half a) { return v_cvt_i16_f16(a.bits); }, 0, shadow_low16),
      vector_op(
          "v_cvt_norm_i16_f16", [](Half a) { return v_cvt_norm_i16_f16(a.bits); }, 0, shadow_low16),
      vector_op(
          "v_cvt_norm_u16_f16", [](Half a) { return v_cvt_norm_u16_f16(a.bits); }, 0, shadow_low16),
      on_gfx950(vector_op("v_cvt_f32_bf16", [](u16 a) { return f32_of_bf16(a); })),
      on_gfx950(vector_op("v_prng_b32", [](u32 a) { return v_prng_b32(a); })));
}

void register_pairs() {
  register_all(
      vector_op(
          "v_cvt_pkrtz_f16_f32", [](float a, float b) { return v_cvt_pkrtz_f16_f32(a, b); }, 0,
          shadow_pair),
      on_gfx950(vector_op(
          "v_cvt_pk_f16_f32", [](float a, float b) { return v_cvt_pk_f16_f32(a, b); }, 0,
          shadow_pair)),
      on_gfx950(vector_op(
          "v_cvt_pk_bf16_f32", [](float a, float b) { return v_cvt_pk_bf16_f32(a, b); }, 0,
          shadow_pair)),
      vector_op(
          "v_pack_b32_f16", [](Half a, Half b) { return v_pack_b32_f16(a.bits, b.bits); }, 0,
          shadow_pack),
      vector_op(
          "v_cvt_pknorm_i16_f32", [](float a, float b) { return v_cvt_pknorm_i16_f32(a, b); }, 0,
          shadow_pair),
      vector_op(
          "v_cvt_pknorm_u16_f32", [](float a, float b) { return v_cvt_pknorm_u16_f32(a, b); }, 0,
          shadow_pair),
      vector_op(
          "v_cvt_pknorm_i16_f16",
          [](Half a, Half b) { return v_cvt_pknorm_i16_f16(a.bits, b.bits); }, 0, shadow_pair),
      vector_op(
          "v_cvt_pknorm_u16_f16",
          [](Half a, Half b) { return v_cvt_pknorm_u16_f16(a.bits, b.bits); }, 0, shadow_pair),
      vector_op(
          "v_cvt_pk_u16_u32", [](u32 a, u32 b) { return v_cvt_pk_u16_u32(a, b); }, 0, shadow_pair),
      vector_op(
          "v_cvt_pk_i16_i32", [](i32 a, i32 b) { return v_cvt_pk_i16_i32(a, b); }, 0, shadow_pair),
      vector_op("v_cvt_pk_u8_f32", [](float a, u32 b, u32 c) { return v_cvt_pk_u8_f32(a, b, c); }),
      vector_op("v_sat_pk_u8_i16", [](u32 a) { return v_sat_pk_u8_i16(a); }),
      on_gfx950(vector_op("v_ashr_pk_i8_i32",
                          [](i32 a, i32 b, u32 c) { return v_ashr_pk_i8_i32(a, b, c); })),
      on_gfx950(vector_op("v_ashr_pk_u8_i32",
                          [](i32 a, i32 b, u32 c) { return v_ashr_pk_u8_i32(a, b, c); })));
}

}  // namespace

void register_vector_convert() {
  register_numbers();
  register_pairs();
}

}  // namespace instinct::INSTINCT_LEVEL
