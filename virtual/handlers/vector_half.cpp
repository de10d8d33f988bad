// Floating-point arithmetic of 16 bits ("CDNA3 ISA", VOP1, VOP2, VOP3A). Those of GFX8 clear the
// other half of the destination, those new in GFX9 keep it (LLVM, zeroesHigh16BitsOfDest).
#include "virtual/handlers/define.h"
#include "virtual/handlers/shadow.h"
#include "virtual/semantics/arithmetic.h"
#include "virtual/semantics/divide.h"
#include "virtual/semantics/transcendental.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

// f(u16 bits...) as a function of halves.
template <class F>
Opcode unary(std::string_view name, F, u16 flags = 0) {
  return vector_op(name, [](Half a) { return Half{F{}(a.bits)}; }, flags, shadow_low16);
}
template <class F>
Opcode binary(std::string_view name, F, u16 flags = 0) {
  return vector_op(
      name, [](Half a, Half b) { return Half{F{}(a.bits, b.bits)}; }, flags, shadow_low16);
}
template <class F>
Opcode ternary(std::string_view name, F, u16 flags = 0, ShadowKernel shadow = shadow_low16) {
  return vector_op(
      name, [](Half a, Half b, Half c) { return Half{F{}(a.bits, b.bits, c.bits)}; }, flags,
      shadow);
}
Opcode transcendental(Opcode opcode) {
  opcode.unit = Unit::transcendental;
  return opcode;
}

void register_arithmetic() {
  register_all(
      binary("v_add_f16", [](u16 a, u16 b) { return add_f16(a, b); }),
      binary("v_sub_f16", [](u16 a, u16 b) { return sub_f16(a, b); }),
      binary("v_subrev_f16", [](u16 a, u16 b) { return sub_f16(b, a); }),
      binary("v_mul_f16", [](u16 a, u16 b) { return mul_f16(a, b); }),
      binary("v_max_f16", [](u16 a, u16 b) { return v_max_f16(a, b); }),
      binary("v_min_f16", [](u16 a, u16 b) { return v_min_f16(a, b); }),
      ternary(
          "v_fma_f16", [](u16 a, u16 b, u16 c) { return fma_f16(a, b, c); }, keeps_high),
      ternary("v_fma_legacy_f16", [](u16 a, u16 b, u16 c) { return fma_f16(a, b, c); }),
      ternary(
          "v_mad_f16", [](u16 a, u16 b, u16 c) { return mad_f16(a, b, c); }, keeps_high),
      ternary("v_mad_legacy_f16", [](u16 a, u16 b, u16 c) { return mad_f16(a, b, c); }),
      ternary(
          "v_mac_f16", [](u16 a, u16 b, u16 c) { return mad_f16(a, b, c); }, reads_dst, nullptr),
      ternary("v_madak_f16", [](u16 a, u16 b, u16 k) { return mad_f16(a, b, k); }),
      ternary("v_madmk_f16", [](u16 a, u16 k, u16 b) { return mad_f16(a, k, b); }),
      ternary(
          "v_max3_f16", [](u16 a, u16 b, u16 c) { return v_max3_f16(a, b, c); }, keeps_high),
      ternary(
          "v_min3_f16", [](u16 a, u16 b, u16 c) { return v_min3_f16(a, b, c); }, keeps_high),
      ternary(
          "v_med3_f16", [](u16 a, u16 b, u16 c) { return v_med3_f16(a, b, c); }, keeps_high),
      ternary(
          "v_div_fixup_f16", [](u16 a, u16 b, u16 c) { return v_div_fixup_f16(a, b, c); },
          keeps_high),
      ternary("v_div_fixup_legacy_f16",
              [](u16 a, u16 b, u16 c) { return v_div_fixup_f16(a, b, c); }),
      vector_op(
          "v_ldexp_f16", [](Half a, i16 b) { return Half{v_ldexp_f16(a.bits, b)}; }, 0,
          shadow_low16),
      unary("v_floor_f16", [](u16 a) { return v_floor_f16(a); }),
      unary("v_ceil_f16", [](u16 a) { return v_ceil_f16(a); }),
      unary("v_trunc_f16", [](u16 a) { return v_trunc_f16(a); }),
      unary("v_rndne_f16", [](u16 a) { return v_rndne_f16(a); }),
      unary("v_fract_f16", [](u16 a) { return v_fract_f16(a); }),
      unary("v_frexp_mant_f16", [](u16 a) { return v_frexp_mant_f16(a); }),
      vector_op(
          "v_frexp_exp_i16_f16", [](Half a) { return v_frexp_exp_i16_f16(a.bits); }, 0,
          shadow_low16));
}

void register_transcendental() {
  register_all(transcendental(unary("v_exp_f16", [](u16 a) { return v_exp_f16(a); })),
               transcendental(unary("v_log_f16", [](u16 a) { return v_log_f16(a); })),
               transcendental(unary("v_rcp_f16", [](u16 a) { return v_rcp_f16(a); })),
               transcendental(unary("v_rsq_f16", [](u16 a) { return v_rsq_f16(a); })),
               transcendental(unary("v_sqrt_f16", [](u16 a) { return v_sqrt_f16(a); })),
               transcendental(unary("v_sin_f16", [](u16 a) { return v_sin_f16(a); })),
               transcendental(unary("v_cos_f16", [](u16 a) { return v_cos_f16(a); })));
}

}  // namespace

void register_vector_half() {
  register_arithmetic();
  register_transcendental();
}

}  // namespace instinct::INSTINCT_LEVEL
