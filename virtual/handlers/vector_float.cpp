// Floating-point arithmetic of 32 and 64 bits ("CDNA3 ISA", VOP1, VOP2, VOP3A). What is more than
// an operator of C++ stands in semantics/.
#include <cmath>

#include "virtual/handlers/define.h"
#include "virtual/handlers/shadow.h"
#include "virtual/semantics/arithmetic.h"
#include "virtual/semantics/divide.h"
#include "virtual/semantics/transcendental.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

Opcode transcendental(Opcode opcode) {
  opcode.unit = Unit::transcendental;
  return opcode;
}

Opcode on_gfx950(Opcode opcode) {
  opcode.targets = 2;
  return opcode;
}

float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

void register_f32() {
  register_all(
      vector_op("v_add_f32", [](float a, float b) { return a + b; }),
      vector_op("v_sub_f32", [](float a, float b) { return a - b; }),
      vector_op("v_subrev_f32", [](float a, float b) { return b - a; }),
      vector_op("v_mul_f32", [](float a, float b) { return a * b; }),
      vector_op("v_mul_legacy_f32", [](float a, float b) { return v_mul_legacy_f32(a, b); }),
      vector_op("v_max_f32", [](float a, float b) { return v_max_f32(a, b); }),
      vector_op("v_min_f32", [](float a, float b) { return v_min_f32(a, b); }),
      vector_op("v_max3_f32", [](float a, float b, float c) { return v_max3_f32(a, b, c); }),
      vector_op("v_min3_f32", [](float a, float b, float c) { return v_min3_f32(a, b, c); }),
      vector_op("v_med3_f32", [](float a, float b, float c) { return v_med3_f32(a, b, c); }),
      on_gfx950(vector_op("v_maximum3_f32",
                          [](float a, float b, float c) { return v_maximum3_f32(a, b, c); })),
      on_gfx950(vector_op("v_minimum3_f32",
                          [](float a, float b, float c) { return v_minimum3_f32(a, b, c); })),
      vector_op("v_fma_f32", [](float a, float b, float c) { return fma(a, b, c); }),
      vector_op(
          "v_fmac_f32", [](float a, float b, float c) { return fma(a, b, c); }, reads_dst),
      // The constant is printed where it stands: v_fmamk d, a, k, b; v_fmaak d, a, b, k.
      vector_op("v_fmamk_f32", [](float a, float k, float b) { return fma(a, k, b); }),
      vector_op("v_fmaak_f32", [](float a, float b, float k) { return fma(a, b, k); }),
      vector_op("v_floor_f32", [](float a) { return std::floor(a); }),
      vector_op("v_ceil_f32", [](float a) { return std::ceil(a); }),
      vector_op("v_trunc_f32", [](float a) { return std::trunc(a); }),
      vector_op("v_rndne_f32", [](float a) { return std::nearbyint(a); }),
      vector_op("v_fract_f32", [](float a) { return v_fract_f32(a); }),
      vector_op("v_ldexp_f32", [](float a, i32 b) { return v_ldexp_f32(a, b); }),
      vector_op("v_frexp_mant_f32", [](float a) { return v_frexp_mant_f32(a); }),
      vector_op("v_frexp_exp_i32_f32", [](float a) { return v_frexp_exp_i32_f32(a); }),
      vector_op("v_div_fixup_f32", [](float a, float b, float c) { return div_fixup(a, b, c); }));
}

void register_transcendental() {
  register_all(transcendental(vector_op("v_exp_f32", [](float a) { return v_exp_f32(a); })),
               transcendental(vector_op("v_log_f32", [](float a) { return v_log_f32(a); })),
               transcendental(vector_op("v_rcp_f32", [](float a) { return v_rcp_f32(a); })),
               transcendental(vector_op("v_rcp_iflag_f32", [](float a) { return v_rcp_f32(a); })),
               transcendental(vector_op("v_rsq_f32", [](float a) { return v_rsq_f32(a); })),
               transcendental(vector_op("v_sqrt_f32", [](float a) { return v_sqrt_f32(a); })),
               transcendental(vector_op("v_sin_f32", [](float a) { return v_sin_f32(a); })),
               transcendental(vector_op("v_cos_f32", [](float a) { return v_cos_f32(a); })),
               transcendental(vector_op("v_rcp_f64", [](double a) { return v_rcp_f64(a); })),
               transcendental(vector_op("v_rsq_f64", [](double a) { return v_rsq_f64(a); })),
               transcendental(vector_op("v_sqrt_f64", [](double a) { return v_sqrt_f64(a); })));
}

void register_f64() {
  register_all(
      vector_op("v_add_f64", [](double a, double b) { return a + b; }),
      vector_op("v_mul_f64", [](double a, double b) { return a * b; }),
      vector_op("v_max_f64", [](double a, double b) { return v_max_f64(a, b); }),
      vector_op("v_min_f64", [](double a, double b) { return v_min_f64(a, b); }),
      vector_op("v_fma_f64", [](double a, double b, double c) { return fma(a, b, c); }),
      vector_op(
          "v_fmac_f64", [](double a, double b, double c) { return fma(a, b, c); }, reads_dst),
      vector_op("v_floor_f64", [](double a) { return std::floor(a); }),
      vector_op("v_ceil_f64", [](double a) { return std::ceil(a); }),
      vector_op("v_trunc_f64", [](double a) { return std::trunc(a); }),
      vector_op("v_rndne_f64", [](double a) { return std::nearbyint(a); }),
      vector_op("v_fract_f64", [](double a) { return v_fract_f64(a); }),
      vector_op("v_ldexp_f64", [](double a, i32 b) { return v_ldexp_f64(a, b); }),
      vector_op("v_frexp_mant_f64", [](double a) { return v_frexp_mant_f64(a); }),
      vector_op("v_frexp_exp_i32_f64", [](double a) { return v_frexp_exp_i32_f64(a); }),
      vector_op("v_div_fixup_f64",
                [](double a, double b, double c) { return div_fixup(a, b, c); }));
}

// v_div_scale: a value, and VCC (or another pair) says how the quotient is to be scaled back.
template <class T>
void run_div_scale(Wave& w, const Instruction& in) {
  Sources s;
  s.dirty = any_undefined(w, in);
  load_sources(w, in, s);
  constexpr u32 word_count = sizeof(T) / 4;
  Row result[word_count], undefined[word_count];
  u64 mask = 0;
  for (u32 i = 0; i < 64; ++i) {
    const Scaling<T> scaled =
        div_scale(load<T>(s.row[0], i), load<T>(s.row[1], i), load<T>(s.row[2], i));
    store<T>(result[0].lane, i, scaled.value);
    mask |= u64{scaled.flag} << i;
  }
  if (s.dirty) spread(in, s, undefined[0].lane, word_count);
  const u64 exec = w.exec();
  write_scalar64(w, in.operand[1], mask & exec);
  if (w.track) {
    set_undefined_scalar64(w, in.operand[1], s.dirty ? sign_mask(undefined[0].lane) & exec : 0);
  }
  store_result(w, in, in.dst(), word_count, result, s.dirty ? undefined[0].lane : nullptr, s.mask);
}

// v_div_fmas: fused multiply-add, scaled where VCC says so.
template <class T>
void run_div_fmas(Wave& w, const Instruction& in) {
  Sources s;
  s.dirty = any_undefined(w, in);
  load_sources(w, in, s);
  constexpr u32 word_count = sizeof(T) / 4;
  Row result[word_count], undefined[word_count];
  const u64 vcc = w.scalar64(vcc_register);
  for (u32 i = 0; i < 64; ++i) {
    const T value = div_fmas(load<T>(s.row[0], i), load<T>(s.row[1], i), load<T>(s.row[2], i),
                             (vcc >> i & 1) != 0);
    store<T>(result[0].lane, i, value);
  }
  if (s.dirty) {
    spread(in, s, undefined[0].lane, word_count);
    const u64 unknown = w.scalar_undefined[vcc_register] | u64{w.scalar_undefined[vcc_register + 1]}
                                                               << 32;
    for (u32 k = 0; k < word_count; ++k) {
      for (u32 i = 0; i < 64; ++i) undefined[k].lane[i] |= unknown >> i & 1 ? ~0u : 0;
    }
  }
  store_result(w, in, in.dst(), word_count, result, s.dirty ? undefined[0].lane : nullptr, s.mask);
}

template <class T>
void register_division(std::string_view scale, std::string_view fmas) {
  Opcode opcode = handler_op(scale, &run_div_scale<T>, Unit::valu, 2, float_result, type_of<T>());
  opcode.dst_words = sizeof(T) / 4;
  for (u8& words : opcode.src_words) words = sizeof(T) / 4;
  register_opcode(opcode);
  opcode.name = fmas;
  opcode.handler = &run_div_fmas<T>;
  opcode.destinations = 1;
  opcode.flags |= reads_vcc;
  register_opcode(opcode);
}

}  // namespace

void register_vector_float() {
  register_f32();
  register_f64();
  register_transcendental();
  register_division<float>("v_div_scale_f32", "v_div_fmas_f32");
  register_division<double>("v_div_scale_f64", "v_div_fmas_f64");
}

}  // namespace instinct::INSTINCT_LEVEL
