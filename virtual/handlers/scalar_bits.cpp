// Scalar logic, shifts and bit counts ("CDNA3 ISA", chapter "Instructions": SOP1, SOP2).
#include "virtual/handlers/scalar_op.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

template <class T>
u32 population(T a) {
  return static_cast<u32>(std::popcount(a));
}

void register_bit_counts() {
  add("s_bcnt0_i32_b32", [](u32 a, bool& s) {
    const u32 r = population(~a);
    return s = r != 0, r;
  });
  add("s_bcnt0_i32_b64", [](u64 a, bool& s) {
    const u32 r = population(~a);
    return s = r != 0, r;
  });
  add("s_bcnt1_i32_b32", [](u32 a, bool& s) {
    const u32 r = population(a);
    return s = r != 0, r;
  });
  add("s_bcnt1_i32_b64", [](u64 a, bool& s) {
    const u32 r = population(a);
    return s = r != 0, r;
  });
  add(
      "s_ff0_i32_b32", [](u32 a, bool&) { return ~a ? static_cast<u32>(std::countr_one(a)) : ~0u; },
      0);
  add(
      "s_ff0_i32_b64", [](u64 a, bool&) { return ~a ? static_cast<u32>(std::countr_one(a)) : ~0u; },
      0);
  add(
      "s_ff1_i32_b32", [](u32 a, bool&) { return a ? static_cast<u32>(std::countr_zero(a)) : ~0u; },
      0);
  add(
      "s_ff1_i32_b64", [](u64 a, bool&) { return a ? static_cast<u32>(std::countr_zero(a)) : ~0u; },
      0);
  add(
      "s_flbit_i32_b32",
      [](u32 a, bool&) { return a ? static_cast<u32>(std::countl_zero(a)) : ~0u; }, 0);
  add(
      "s_flbit_i32_b64",
      [](u64 a, bool&) { return a ? static_cast<u32>(std::countl_zero(a)) : ~0u; }, 0);
  add(
      "s_flbit_i32",
      [](u32 a, bool&) {
        const u32 x = a ^ (0 - (a >> 31));
        return x ? static_cast<u32>(std::countl_zero(x)) : ~0u;
      },
      0);
  add(
      "s_flbit_i32_i64",
      [](u64 a, bool&) {
        const u64 x = a ^ (0 - (a >> 63));
        return x ? static_cast<u32>(std::countl_zero(x)) : ~0u;
      },
      0);
  add(
      "s_bitreplicate_b64_b32",
      [](u32 a, bool&) {
        u64 r = 0;
        for (u32 i = 0; i < 32; ++i) r |= u64{3 * (a >> i & 1)} << 2 * i;
        return r;
      },
      0);
}

// Groups of four bits: one bit for each, or all four, if any is set ("CDNA3 ISA", S_QUADMASK_B32,
// S_WQM_B32).
template <class T>
T quads_with_any(T a) {
  const T pairs = a | a >> 1;
  return (pairs | pairs >> 2) & static_cast<T>(0x1111111111111111u);
}
template <class T>
void register_quads(std::string_view mask_name, std::string_view whole_name) {
  add(mask_name, [](T a, bool& s) {
    const T quads = quads_with_any(a);
    T r = 0;
    for (u32 i = 0; i < 2 * sizeof(T); ++i) r |= (quads >> 4 * i & 1) << i;
    return s = r != 0, r;
  });
  add(whole_name, [](T a, bool& s) {
    const T r = quads_with_any(a) * 15;
    return s = r != 0, r;
  });
}

template <class T>
void register_logic(std::string_view and_name, std::string_view or_name, std::string_view xor_name,
                    std::string_view andn2, std::string_view orn2, std::string_view nand,
                    std::string_view nor, std::string_view xnor) {
  add<Spread::bit_and>(and_name, [](T a, T b, bool& s) {
    const T r = a & b;
    s = r != 0;
    return r;
  });
  add<Spread::bit_or>(or_name, [](T a, T b, bool& s) {
    const T r = a | b;
    s = r != 0;
    return r;
  });
  add<Spread::bit_xor>(xor_name, [](T a, T b, bool& s) {
    const T r = a ^ b;
    s = r != 0;
    return r;
  });
  add<Spread::andn2>(andn2, [](T a, T b, bool& s) {
    const T r = a & ~b;
    s = r != 0;
    return r;
  });
  add<Spread::orn2>(orn2, [](T a, T b, bool& s) {
    const T r = a | ~b;
    s = r != 0;
    return r;
  });
  add<Spread::bit_and>(nand, [](T a, T b, bool& s) {
    const T r = ~(a & b);
    s = r != 0;
    return r;
  });
  add<Spread::bit_or>(nor, [](T a, T b, bool& s) {
    const T r = ~(a | b);
    s = r != 0;
    return r;
  });
  add<Spread::bit_xor>(xnor, [](T a, T b, bool& s) {
    const T r = ~(a ^ b);
    s = r != 0;
    return r;
  });
}

void register_shifts() {
  add<Spread::shift>("s_lshl_b32", [](u32 a, u32 b, bool& s) {
    const u32 r = a << (b & 31);
    s = r != 0;
    return r;
  });
  add<Spread::shift>("s_lshl_b64", [](u64 a, u32 b, bool& s) {
    const u64 r = a << (b & 63);
    s = r != 0;
    return r;
  });
  add<Spread::shift>("s_lshr_b32", [](u32 a, u32 b, bool& s) {
    const u32 r = a >> (b & 31);
    s = r != 0;
    return r;
  });
  add<Spread::shift>("s_lshr_b64", [](u64 a, u32 b, bool& s) {
    const u64 r = a >> (b & 63);
    s = r != 0;
    return r;
  });
  add<Spread::shift>("s_ashr_i32", [](i32 a, u32 b, bool& s) {
    const i32 r = a >> (b & 31);
    s = r != 0;
    return r;
  });
  add<Spread::shift>("s_ashr_i64", [](i64 a, u32 b, bool& s) {
    const i64 r = a >> (b & 63);
    s = r != 0;
    return r;
  });
  add("s_bfm_b32", [](u32 a, u32 b, bool&) { return ((1u << (a & 31)) - 1) << (b & 31); }, 0);
  add("s_bfm_b64", [](u32 a, u32 b, bool&) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }, 0);
}

void register_fields() {
  // Source 1: offset in bits 5:0, width in bits 22:16.
  add<Spread::shift>("s_bfe_u32", [](u32 a, u32 b, bool& s) {
    const u32 width = b >> 16 & 0x7f;
    const u32 field = a >> (b & 31);
    const u32 r = width >= 32 ? field : field & ((1u << width) - 1);
    s = r != 0;
    return r;
  });
  add<Spread::shift>("s_bfe_u64", [](u64 a, u32 b, bool& s) {
    const u32 width = b >> 16 & 0x7f;
    const u64 field = a >> (b & 63);
    const u64 r = width >= 64 ? field : field & ((u64{1} << width) - 1);
    s = r != 0;
    return r;
  });
  add<Spread::shift>("s_bfe_i32", [](u32 a, u32 b, bool& s) {
    const u32 width = b >> 16 & 0x7f;
    const i32 field = static_cast<i32>(a) >> (b & 31);
    const u32 up = width < 32 ? 32 - width : 0;
    const i32 r = width ? static_cast<i32>(static_cast<u32>(field) << up) >> up : 0;
    s = r != 0;
    return r;
  });
  add<Spread::shift>("s_bfe_i64", [](u64 a, u32 b, bool& s) {
    const u32 width = b >> 16 & 0x7f;
    const i64 field = static_cast<i64>(a) >> (b & 63);
    const u32 up = width < 64 ? 64 - width : 0;
    const i64 r = width ? static_cast<i64>(static_cast<u64>(field) << up) >> up : 0;
    s = r != 0;
    return r;
  });
}

void register_packing() {
  add("s_pack_ll_b32_b16", [](u32 a, u32 b, bool&) { return (a & 0xffff) | b << 16; }, 0);
  add("s_pack_lh_b32_b16", [](u32 a, u32 b, bool&) { return (a & 0xffff) | (b & 0xffff0000); }, 0);
  add("s_pack_hh_b32_b16", [](u32 a, u32 b, bool&) { return a >> 16 | (b & 0xffff0000); }, 0);
  add<Spread::all>("s_cselect_b32", [](u32 a, u32 b, bool& s) { return s ? a : b; }, reads_scc);
  add<Spread::all>("s_cselect_b64", [](u64 a, u64 b, bool& s) { return s ? a : b; }, reads_scc);
}

}  // namespace

void register_scalar_bits() {
  register_bit_counts();
  register_quads<u32>("s_quadmask_b32", "s_wqm_b32");
  register_quads<u64>("s_quadmask_b64", "s_wqm_b64");
  register_logic<u32>("s_and_b32", "s_or_b32", "s_xor_b32", "s_andn2_b32", "s_orn2_b32",
                      "s_nand_b32", "s_nor_b32", "s_xnor_b32");
  register_logic<u64>("s_and_b64", "s_or_b64", "s_xor_b64", "s_andn2_b64", "s_orn2_b64",
                      "s_nand_b64", "s_nor_b64", "s_xnor_b64");
  register_shifts();
  register_fields();
  register_packing();
}

}  // namespace instinct::INSTINCT_LEVEL
