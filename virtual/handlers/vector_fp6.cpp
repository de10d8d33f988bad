// Conversions of 32 six-bit floats at once ("CDNA4 ISA", V_CVT_SCALEF32_PK32_*, _2XPK16_*,
// _SR_PK32_*): six registers on one side, 16 (halves) or 32 (f32) on the other.
#include <cstring>

#include "virtual/handlers/define.h"
#include "virtual/semantics/fp8.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr u8 gfx950_bit = 2;

enum class Wide { f32, f16, bf16 };

template <Wide wide>
float read_wide(const u32* rows, u32 element, u32 lane) {
  if constexpr (wide == Wide::f32) return float_of(rows[64 * element + lane]);
  const u32 word = rows[64 * (element / 2) + lane];
  const u16 half = element & 1 ? high_half(word) : low_half(word);
  return wide == Wide::f16 ? f32_of_f16(half) : f32_of_bf16(half);
}

template <Wide wide>
void write_wide(u32* rows, u32 element, u32 lane, float value) {
  if constexpr (wide == Wide::f32) {
    rows[64 * element + lane] = bits_of(value);
    return;
  }
  const u32 half = wide == Wide::f16 ? f16_of_f32(value) : bf16_of_f32(value);
  u32& word = rows[64 * (element / 2) + lane];
  word = element & 1 ? (word & 0xffff) | half << 16 : half;
}

// Anything undefined makes all of a lane's results undefined.
void spread_wide(Wave& w, const Instruction& in) {
  if (!w.track) return;
  Row any;
  std::memset(any.lane, 0, sizeof(any));
  for (u32 i = 0; i < in.reads; ++i) {
    for (u32 k = 0; k < in.read[i].count; ++k) {
      const u32 r = in.read[i].first + k;
      if (!w.dirty.test(r)) continue;
      for (u32 lane = 0; lane < 64; ++lane) any.lane[lane] |= undefined_row(w, r)[lane];
    }
  }
  for (u32& bits : any.lane) bits = bits ? ~0u : 0;
  for (u32 k = 0; k < in.dst().count; ++k) {
    set_undefined(w, in.dst().first + k, 1, w.exec(), any.lane);
  }
}

void write_back(Wave& w, const Instruction& in, const Row* result) {
  spread_wide(w, in);
  for (u32 k = 0; k < in.dst().count; ++k) {
    blend(row(w, in.dst().first + k), result[k].lane, w.exec());
  }
}

template <Format format, Wide wide>
void run_widen(Wave& w, const Instruction& in) {
  Row scratch;
  const u32* source = row(w, in.src(0).first);
  const u32* scale = source_rows(w, in.src(1), 1, &scratch);
  Row result[32];
  for (u32 lane = 0; lane < 64; ++lane) {
    u32 words[6];
    for (u32 k = 0; k < 6; ++k) words[k] = source[64 * k + lane];
    for (u32 i = 0; i < 32; ++i) {
      const float x = widen_scaled<format>(six_bits(words, i), float_of(scale[lane]));
      write_wide<wide>(result[0].lane, i, lane, x);
    }
  }
  write_back(w, in, result);
}

template <Format format, Wide wide, bool stochastic>
void run_narrow(Wave& w, const Instruction& in) {
  Row scratch[2];
  const u32* source = row(w, in.src(0).first);
  const u32* seed = stochastic ? source_rows(w, in.src(1), 1, &scratch[0]) : nullptr;
  const u32* scale = source_rows(w, in.src(stochastic ? 2 : 1), 1, &scratch[1]);
  Row result[6];
  for (u32 lane = 0; lane < 64; ++lane) {
    u32 words[6] = {};
    for (u32 i = 0; i < 32; ++i) {
      const float x = read_wide<wide>(source, i, lane);
      const float by = float_of(scale[lane]);
      const u32 bits = stochastic ? narrow_scaled_stochastic<format>(x, by, seed[lane])
                                  : narrow_scaled<format>(x, by);
      put_six_bits(words, i, bits);
    }
    for (u32 k = 0; k < 6; ++k) result[k].lane[lane] = words[k];
  }
  write_back(w, in, result);
}

// Public code disagrees: MLIR's ROCDL dialect says that the sources are concatenated, AMD's FlyDSL
// that they alternate. Refused until it is known.
void run_two_sources(Wave& w, const Instruction& in) {
  unsupported(w, in, "the order in which this instruction takes its two sources is not settled");
}

void add(std::string_view name, Handler handler) {
  Opcode opcode = handler_op(name, handler, Unit::valu);
  opcode.targets = gfx950_bit;
  opcode.src_type[1] = opcode.src_type[2] = Type::f32;
  register_opcode(opcode);
}

}  // namespace

void register_vector_fp6() {
  add("v_cvt_scalef32_pk32_f32_fp6", &run_widen<e2m3_format, Wide::f32>);
  add("v_cvt_scalef32_pk32_f16_fp6", &run_widen<e2m3_format, Wide::f16>);
  add("v_cvt_scalef32_pk32_bf16_fp6", &run_widen<e2m3_format, Wide::bf16>);
  add("v_cvt_scalef32_pk32_f32_bf6", &run_widen<e3m2_format, Wide::f32>);
  add("v_cvt_scalef32_pk32_f16_bf6", &run_widen<e3m2_format, Wide::f16>);
  add("v_cvt_scalef32_pk32_bf16_bf6", &run_widen<e3m2_format, Wide::bf16>);
  add("v_cvt_scalef32_2xpk16_fp6_f32", &run_two_sources);
  add("v_cvt_scalef32_2xpk16_bf6_f32", &run_two_sources);
  add("v_cvt_scalef32_pk32_fp6_f16", &run_narrow<e2m3_format, Wide::f16, false>);
  add("v_cvt_scalef32_pk32_fp6_bf16", &run_narrow<e2m3_format, Wide::bf16, false>);
  add("v_cvt_scalef32_pk32_bf6_f16", &run_narrow<e3m2_format, Wide::f16, false>);
  add("v_cvt_scalef32_pk32_bf6_bf16", &run_narrow<e3m2_format, Wide::bf16, false>);
  add("v_cvt_scalef32_sr_pk32_fp6_f32", &run_narrow<e2m3_format, Wide::f32, true>);
  add("v_cvt_scalef32_sr_pk32_fp6_f16", &run_narrow<e2m3_format, Wide::f16, true>);
  add("v_cvt_scalef32_sr_pk32_fp6_bf16", &run_narrow<e2m3_format, Wide::bf16, true>);
  add("v_cvt_scalef32_sr_pk32_bf6_f32", &run_narrow<e3m2_format, Wide::f32, true>);
  add("v_cvt_scalef32_sr_pk32_bf6_f16", &run_narrow<e3m2_format, Wide::f16, true>);
  add("v_cvt_scalef32_sr_pk32_bf6_bf16", &run_narrow<e3m2_format, Wide::bf16, true>);
}

}  // namespace instinct::INSTINCT_LEVEL
