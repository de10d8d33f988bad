// Packed arithmetic, mixed precision and dot products ("CDNA3 ISA", VOP3P).
#include "virtual/semantics/packed.h"

#include "virtual/handlers/define.h"
#include "virtual/handlers/shadow.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr u8 gfx950_bit = 2;

PackedModifiers modifiers(const Instruction& in, u32 i, bool floats) {
  return {.select_low = (in.op_sel >> i & 1) != 0,
          .select_high = (in.op_sel_hi >> i & 1) != 0,
          .negate_low = floats && (in.neg_lo >> i & 1),
          .negate_high = floats && (in.neg_hi >> i & 1)};
}

// Sources with their halves selected and negated.
const u32* arranged(const LaneContext& c, u32 k, bool floats, const u32* s, u32* d) {
  const PackedModifiers m = modifiers(c.in, k, floats);
  if (!m.select_low && m.select_high && !m.negate_low && !m.negate_high) return s;
  for (u32 i = 0; i < 64; ++i) d[i] = arrange(s[i], m);
  return d;
}

template <class F, u32 source_count, bool are_floats>
void packed_lanes(u32* d, const u32* const* s, const LaneContext& c) {
  Row scratch[source_count];
  const u32* a[3] = {};
  for (u32 k = 0; k < source_count; ++k) a[k] = arranged(c, k, are_floats, s[k], scratch[k].lane);
#pragma GCC ivdep
  for (u32 i = 0; i < 64; ++i) {
    if constexpr (source_count == 2)
      d[i] = F{}(a[0][i], a[1][i], c.in.clamp);
    else
      d[i] = F{}(a[0][i], a[1][i], a[2][i], c.in.clamp);
  }
  if (!are_floats || !c.in.clamp) return;
  for (u32 i = 0; i < 64; ++i) {
    d[i] = pack_halves(clamp_f16(low_half(d[i])), clamp_f16(high_half(d[i])));
  }
}

// f(words..., clamp)
template <u32 source_count, bool are_floats, class F>
void add(std::string_view name, F, u8 targets = 3, u16 flags = 0) {
  Opcode opcode = handler_op(name, &run_lanes, Unit::valu, 1,
                             is_packed | flags | (are_floats ? float_result : 0),
                             are_floats ? Type::f16 : Type::b32);
  opcode.kernel = reinterpret_cast<void (*)()>(
      static_cast<LaneKernel>(&packed_lanes<F, source_count, are_floats>));
  opcode.shadow = shadow_packed16;
  opcode.targets = targets;
  register_opcode(opcode);
}

void register_packed_halves() {
  add<2, true>("v_pk_add_f16", [](u32 a, u32 b, bool) { return v_pk_add_f16(a, b); });
  add<2, true>("v_pk_mul_f16", [](u32 a, u32 b, bool) { return v_pk_mul_f16(a, b); });
  add<2, true>("v_pk_min_f16", [](u32 a, u32 b, bool) { return v_pk_min_f16(a, b); });
  add<2, true>("v_pk_max_f16", [](u32 a, u32 b, bool) { return v_pk_max_f16(a, b); });
  add<3, true>("v_pk_fma_f16", [](u32 a, u32 b, u32 c, bool) { return v_pk_fma_f16(a, b, c); });
  add<3, true>(
      "v_pk_fmac_f16", [](u32 a, u32 b, u32 c, bool) { return v_pk_fma_f16(a, b, c); }, 3,
      reads_dst);
  add<3, true>(
      "v_pk_minimum3_f16", [](u32 a, u32 b, u32 c, bool) { return v_pk_minimum3_f16(a, b, c); },
      gfx950_bit);
  add<3, true>(
      "v_pk_maximum3_f16", [](u32 a, u32 b, u32 c, bool) { return v_pk_maximum3_f16(a, b, c); },
      gfx950_bit);
}

void register_packed_integers() {
  add<2, false>("v_pk_add_i16", [](u32 a, u32 b, bool k) { return v_pk_add_16<true>(a, b, k); });
  add<2, false>("v_pk_add_u16", [](u32 a, u32 b, bool k) { return v_pk_add_16<false>(a, b, k); });
  add<2, false>("v_pk_sub_i16", [](u32 a, u32 b, bool k) { return v_pk_sub_16<true>(a, b, k); });
  add<2, false>("v_pk_sub_u16", [](u32 a, u32 b, bool k) { return v_pk_sub_16<false>(a, b, k); });
  add<3, false>("v_pk_mad_i16",
                [](u32 a, u32 b, u32 c, bool k) { return v_pk_mad_16<true>(a, b, c, k); });
  add<3, false>("v_pk_mad_u16",
                [](u32 a, u32 b, u32 c, bool k) { return v_pk_mad_16<false>(a, b, c, k); });
  add<2, false>("v_pk_mul_lo_u16", [](u32 a, u32 b, bool) { return v_pk_mul_lo_u16(a, b); });
  add<2, false>("v_pk_min_i16", [](u32 a, u32 b, bool) { return v_pk_min_16<true>(a, b); });
  add<2, false>("v_pk_min_u16", [](u32 a, u32 b, bool) { return v_pk_min_16<false>(a, b); });
  add<2, false>("v_pk_max_i16", [](u32 a, u32 b, bool) { return v_pk_max_16<true>(a, b); });
  add<2, false>("v_pk_max_u16", [](u32 a, u32 b, bool) { return v_pk_max_16<false>(a, b); });
  add<2, false>("v_pk_lshlrev_b16", [](u32 a, u32 b, bool) { return v_pk_lshlrev_b16(a, b); });
  add<2, false>("v_pk_lshrrev_b16", [](u32 a, u32 b, bool) { return v_pk_lshrrev_b16(a, b); });
  add<2, false>("v_pk_ashrrev_i16", [](u32 a, u32 b, bool) { return v_pk_ashrrev_i16(a, b); });
}

// v_pk_*_f32: op_sel chooses the word that feeds the low result, op_sel_hi that of the high one.
template <class F, u32 source_count>
void packed_words(u32* d, const u32* const* s, const LaneContext& c) {
  for (u32 half = 0; half < 2; ++half) {
    const u32* a[3] = {};
    u32 flip[3] = {};
    for (u32 k = 0; k < source_count; ++k) {
      const u32 select = half ? c.in.op_sel_hi : c.in.op_sel;
      const u32 negate = half ? c.in.neg_hi : c.in.neg_lo;
      a[k] = s[k] + (select >> k & 1 ? 64 : 0);
      flip[k] = negate >> k & 1 ? 0x80000000u : 0;
    }
#pragma GCC ivdep
    for (u32 i = 0; i < 64; ++i) {
      const float x = float_of(a[0][i] ^ flip[0]), y = float_of(a[1][i] ^ flip[1]);
      if constexpr (source_count == 2)
        d[64 * half + i] = bits_of(F{}(x, y));
      else
        d[64 * half + i] = bits_of(F{}(x, y, float_of(a[2][i] ^ flip[2])));
    }
  }
}

template <u32 source_count, class F>
void add_words(std::string_view name, F) {
  Opcode opcode = handler_op(name, &run_lanes, Unit::valu, 1, is_packed | float_result, Type::f32);
  opcode.dst_words = 2;
  for (u8& words : opcode.src_words) words = 2;
  opcode.kernel =
      reinterpret_cast<void (*)()>(static_cast<LaneKernel>(&packed_words<F, source_count>));
  opcode.shadow = shadow_words;
  register_opcode(opcode);
}

void mov_words(u32* d, const u32* const* s, const LaneContext& c) {
  const u32 *low = s[0] + (c.in.op_sel & 1 ? 64 : 0), *high = s[1] + (c.in.op_sel & 2 ? 64 : 0);
  for (u32 i = 0; i < 64; ++i) {
    d[i] = low[i];
    d[64 + i] = high[i];
  }
}
void shadow_mov_words(u32* d, const u32* const*, const u32* const* u, const LaneContext& c) {
  mov_words(d, u, c);
}

void register_packed_words() {
  add_words<2>("v_pk_add_f32", [](float a, float b) { return a + b; });
  add_words<2>("v_pk_mul_f32", [](float a, float b) { return a * b; });
  add_words<3>("v_pk_fma_f32", [](float a, float b, float c) { return __builtin_fmaf(a, b, c); });
  // Low word from source 0, high word from source 1, each chosen by op_sel.
  Opcode mov = handler_op("v_pk_mov_b32", &run_lanes, Unit::valu, 1, is_packed);
  mov.dst_words = 2;
  for (u8& words : mov.src_words) words = 2;
  mov.kernel = reinterpret_cast<void (*)()>(static_cast<LaneKernel>(&mov_words));
  mov.shadow = shadow_mov_words;
  register_opcode(mov);
}

// Mixed precision: each source is an f32, or an f16 half if op_sel_hi is set for it, the high one
// if op_sel is. neg_lo negates, neg_hi is abs.
MixModifiers mix_modifiers(const Instruction& in, int k) {
  const Operand& source = in.src(k);
  return {.half = (in.op_sel_hi >> k & 1) != 0,
          .high = (in.op_sel >> k & 1) != 0,
          .negate = source.negate || (in.neg_lo >> k & 1),
          .absolute = source.absolute || (in.neg_hi >> k & 1)};
}

enum class Mix { whole, low, high };
template <Mix mix>
void mix_lanes(u32* d, const u32* const* s, const LaneContext& c) {
  const MixModifiers m[] = {mix_modifiers(c.in, 0), mix_modifiers(c.in, 1), mix_modifiers(c.in, 2)};
  for (u32 i = 0; i < 64; ++i) {
    const float x = mix_source(s[0][i], m[0]), y = mix_source(s[1][i], m[1]);
    const float z = mix_source(s[2][i], m[2]);
    if constexpr (mix == Mix::whole) {
      const float sum = v_fma_mix_f32(x, y, z);
      d[i] = bits_of(c.in.clamp ? clamp_f32(sum) : sum);
    } else {
      u16 half = fma_mix_f16(x, y, z);
      if (c.in.clamp) half = clamp_f16(half);
      const u32 old = s[3][i];
      d[i] = mix == Mix::low ? (old & 0xffff0000u) | half : (old & 0xffffu) | u32{half} << 16;
    }
  }
}

void register_mixed() {
  const auto add_mix = [](std::string_view name, LaneKernel kernel, u16 flags) {
    Opcode opcode = handler_op(name, &run_lanes, Unit::valu, 1, flags | is_packed, Type::f32);
    opcode.kernel = reinterpret_cast<void (*)()>(kernel);
    opcode.mixed = true;
    register_opcode(opcode);
  };
  add_mix("v_fma_mix_f32", &mix_lanes<Mix::whole>, 0);
  add_mix("v_fma_mixlo_f16", &mix_lanes<Mix::low>, reads_dst);
  add_mix("v_fma_mixhi_f16", &mix_lanes<Mix::high>, reads_dst);
}

// Dot products: halves or bytes of a and b, summed onto c. As VOP2 (v_dot2c) c is the destination.
template <class F, bool is_float>
void dot_lanes(u32* d, const u32* const* s, const LaneContext& c) {
  Row scratch[2];
  const u32 *a = s[0], *b = s[1];
  if (is_float) {
    a = arranged(c, 0, true, a, scratch[0].lane);
    b = arranged(c, 1, true, b, scratch[1].lane);
  }
  const u32 flip = is_float && (c.in.neg_lo >> 2 & 1) ? 0x80000000u : 0;
  for (u32 i = 0; i < 64; ++i) d[i] = F{}(a[i], b[i], s[2][i] ^ flip, c.in.clamp);
}

template <bool is_float, class F>
void add_dot(std::string_view name, F, u16 flags = 0, u8 targets = 3) {
  Opcode opcode = handler_op(name, &run_lanes, Unit::valu, 1, is_packed | is_dot | flags,
                             is_float ? Type::f32 : Type::b32);
  opcode.kernel = reinterpret_cast<void (*)()>(static_cast<LaneKernel>(&dot_lanes<F, is_float>));
  opcode.targets = targets;
  register_opcode(opcode);
}

void register_dots() {
  constexpr auto f16 = [](u32 a, u32 b, u32 c, bool clamp) {
    const float sum = v_dot2_f32_f16(a, b, float_of(c));
    return bits_of(clamp ? clamp_f32(sum) : sum);
  };
  add_dot<true>("v_dot2_f32_f16", f16);
  add_dot<true>("v_dot2c_f32_f16", f16, reads_dst);
  add_dot<true>(
      "v_dot2_f32_bf16",
      [](u32 a, u32 b, u32 c, bool) { return bits_of(v_dot2_f32_bf16(a, b, float_of(c))); }, 0,
      gfx950_bit);
  add_dot<true>(
      "v_dot2c_f32_bf16",
      [](u32 a, u32 b, u32 c, bool) { return bits_of(v_dot2c_f32_bf16(a, b, float_of(c))); },
      reads_dst, gfx950_bit);
  constexpr auto i16 = [](u32 a, u32 b, u32 c, bool k) { return v_dot2_i32_i16(a, b, c, k); };
  constexpr auto i8 = [](u32 a, u32 b, u32 c, bool k) { return v_dot4_i32_i8(a, b, c, k); };
  constexpr auto i4 = [](u32 a, u32 b, u32 c, bool k) { return v_dot8_i32_i4(a, b, c, k); };
  add_dot<false>("v_dot2_i32_i16", i16);
  add_dot<false>("v_dot2c_i32_i16", i16, reads_dst);
  add_dot<false>("v_dot4_i32_i8", i8);
  add_dot<false>("v_dot4c_i32_i8", i8, reads_dst);
  add_dot<false>("v_dot8_i32_i4", i4);
  add_dot<false>("v_dot8c_i32_i4", i4, reads_dst);
  add_dot<false>("v_dot2_u32_u16",
                 [](u32 a, u32 b, u32 c, bool k) { return v_dot2_u32_u16(a, b, c, k); });
  add_dot<false>("v_dot4_u32_u8",
                 [](u32 a, u32 b, u32 c, bool k) { return v_dot4_u32_u8(a, b, c, k); });
  add_dot<false>("v_dot8_u32_u4",
                 [](u32 a, u32 b, u32 c, bool k) { return v_dot8_u32_u4(a, b, c, k); });
}

}  // namespace

void register_vector_packed() {
  register_packed_halves();
  register_packed_integers();
  register_packed_words();
  register_mixed();
  register_dots();
}

}  // namespace instinct::INSTINCT_LEVEL
