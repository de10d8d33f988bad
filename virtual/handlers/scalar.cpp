// Scalar moves, sums, products and comparisons ("CDNA3 ISA", chapter "Instructions": SOP1, SOP2,
// SOPC, SOPK).
#include "virtual/handlers/scalar_op.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

void register_moves() {
  add<Spread::bit_xor>("s_mov_b32", [](u32 a, bool&) { return a; }, 0);
  add<Spread::bit_xor>("s_mov_b64", [](u64 a, bool&) { return a; }, 0);
  add<Spread::bit_xor>(
      "s_movk_i32", [](u32 a, bool&) { return static_cast<u32>(i32{static_cast<i16>(a)}); }, 0);
  add<Spread::bit_xor>("s_not_b32", [](u32 a, bool& scc) { return scc = ~a != 0, ~a; });
  add<Spread::bit_xor>("s_not_b64", [](u64 a, bool& scc) { return scc = ~a != 0, ~a; });
  add(
      "s_brev_b32",
      [](u32 a, bool&) {
        u32 r = 0;
        for (u32 i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
        return r;
      },
      0);
  add(
      "s_brev_b64",
      [](u64 a, bool&) {
        u64 r = 0;
        for (u32 i = 0; i < 64; ++i) r |= (a >> i & 1) << (63 - i);
        return r;
      },
      0);
  add<Spread::bit_xor>(
      "s_sext_i32_i8", [](u32 a, bool&) { return static_cast<u32>(i32{static_cast<i8>(a)}); }, 0);
  add<Spread::bit_xor>(
      "s_sext_i32_i16", [](u32 a, bool&) { return static_cast<u32>(i32{static_cast<i16>(a)}); }, 0);
  add("s_abs_i32", [](u32 a, bool& scc) {
    const u32 r = static_cast<i32>(a) < 0 ? 0 - a : a;
    scc = r != 0;
    return r;
  });
}

void register_arithmetic() {
  add("s_add_u32", [](u32 a, u32 b, bool& s) {
    const u64 r = u64{a} + b;
    s = r >> 32;
    return static_cast<u32>(r);
  });
  add("s_sub_u32", [](u32 a, u32 b, bool& s) {
    s = b > a;
    return a - b;
  });
  add(
      "s_addc_u32",
      [](u32 a, u32 b, bool& s) {
        const u64 r = u64{a} + b + s;
        s = r >> 32;
        return static_cast<u32>(r);
      },
      writes_scc | reads_scc);
  add(
      "s_subb_u32",
      [](u32 a, u32 b, bool& s) {
        const u64 r = u64{a} - b - s;
        s = r >> 32 & 1;
        return static_cast<u32>(r);
      },
      writes_scc | reads_scc);
  // SCC is signed overflow.
  add("s_add_i32", [](u32 a, u32 b, bool& s) {
    const u32 r = a + b;
    s = ~(a ^ b) & (a ^ r) & 1u << 31;
    return r;
  });
  add("s_sub_i32", [](u32 a, u32 b, bool& s) {
    const u32 r = a - b;
    s = (a ^ b) & (a ^ r) & 1u << 31;
    return r;
  });
}

void register_products_and_minima() {
  add("s_mul_i32", [](u32 a, u32 b, bool&) { return a * b; }, 0);
  add("s_mul_hi_u32", [](u32 a, u32 b, bool&) { return static_cast<u32>(u64{a} * b >> 32); }, 0);
  add(
      "s_mul_hi_i32",
      [](i32 a, i32 b, bool&) { return static_cast<u32>(static_cast<u64>(i64{a} * b) >> 32); }, 0);
  add("s_min_i32", [](i32 a, i32 b, bool& s) {
    s = a < b;
    return s ? a : b;
  });
  add("s_max_i32", [](i32 a, i32 b, bool& s) {
    s = a > b;
    return s ? a : b;
  });
  add("s_min_u32", [](u32 a, u32 b, bool& s) {
    s = a < b;
    return s ? a : b;
  });
  add("s_max_u32", [](u32 a, u32 b, bool& s) {
    s = a > b;
    return s ? a : b;
  });
  add("s_absdiff_i32", [](u32 a, u32 b, bool& s) {
    const u32 d = a - b;
    const u32 r = static_cast<i32>(d) < 0 ? 0 - d : d;
    s = r != 0;
    return r;
  });
  add("s_lshl1_add_u32", [](u32 a, u32 b, bool& s) {
    const u64 r = (u64{a} << 1) + b;
    s = r >> 32;
    return static_cast<u32>(r);
  });
  add("s_lshl2_add_u32", [](u32 a, u32 b, bool& s) {
    const u64 r = (u64{a} << 2) + b;
    s = r >> 32;
    return static_cast<u32>(r);
  });
  add("s_lshl3_add_u32", [](u32 a, u32 b, bool& s) {
    const u64 r = (u64{a} << 3) + b;
    s = r >> 32;
    return static_cast<u32>(r);
  });
  add("s_lshl4_add_u32", [](u32 a, u32 b, bool& s) {
    const u64 r = (u64{a} << 4) + b;
    s = r >> 32;
    return static_cast<u32>(r);
  });
}

void register_compares() {
  add_compare("s_cmp_eq_i32", [](u32 a, u32 b, bool& s) { return s = a == b, a; });
  add_compare("s_cmp_lg_i32", [](u32 a, u32 b, bool& s) { return s = a != b, a; });
  add_compare("s_cmp_gt_i32", [](i32 a, i32 b, bool& s) { return s = a > b, a; });
  add_compare("s_cmp_ge_i32", [](i32 a, i32 b, bool& s) { return s = a >= b, a; });
  add_compare("s_cmp_lt_i32", [](i32 a, i32 b, bool& s) { return s = a < b, a; });
  add_compare("s_cmp_le_i32", [](i32 a, i32 b, bool& s) { return s = a <= b, a; });
  add_compare("s_cmp_eq_u32", [](u32 a, u32 b, bool& s) { return s = a == b, a; });
  add_compare("s_cmp_lg_u32", [](u32 a, u32 b, bool& s) { return s = a != b, a; });
  add_compare("s_cmp_gt_u32", [](u32 a, u32 b, bool& s) { return s = a > b, a; });
  add_compare("s_cmp_ge_u32", [](u32 a, u32 b, bool& s) { return s = a >= b, a; });
  add_compare("s_cmp_lt_u32", [](u32 a, u32 b, bool& s) { return s = a < b, a; });
  add_compare("s_cmp_le_u32", [](u32 a, u32 b, bool& s) { return s = a <= b, a; });
  add_compare("s_cmp_eq_u64", [](u64 a, u64 b, bool& s) { return s = a == b, a; });
  add_compare("s_cmp_lg_u64", [](u64 a, u64 b, bool& s) { return s = a != b, a; });
  add_compare("s_bitcmp0_b32", [](u32 a, u32 b, bool& s) { return s = !(a >> (b & 31) & 1), a; });
  add_compare("s_bitcmp1_b32", [](u32 a, u32 b, bool& s) { return s = a >> (b & 31) & 1, a; });
  add_compare("s_bitcmp0_b64", [](u64 a, u32 b, bool& s) { return s = !(a >> (b & 63) & 1), a; });
  add_compare("s_bitcmp1_b64", [](u64 a, u32 b, bool& s) { return s = a >> (b & 63) & 1, a; });
  // SOPK: the 16 bits are sign-extended for _i32 and zero-extended for _u32.
  add_compare("s_cmpk_eq_i32",
              [](i32 a, u32 b, bool& s) { return s = a == static_cast<i16>(b), a; });
  add_compare("s_cmpk_lg_i32",
              [](i32 a, u32 b, bool& s) { return s = a != static_cast<i16>(b), a; });
  add_compare("s_cmpk_gt_i32",
              [](i32 a, u32 b, bool& s) { return s = a > static_cast<i16>(b), a; });
  add_compare("s_cmpk_ge_i32",
              [](i32 a, u32 b, bool& s) { return s = a >= static_cast<i16>(b), a; });
  add_compare("s_cmpk_lt_i32",
              [](i32 a, u32 b, bool& s) { return s = a < static_cast<i16>(b), a; });
  add_compare("s_cmpk_le_i32",
              [](i32 a, u32 b, bool& s) { return s = a <= static_cast<i16>(b), a; });
  add_compare("s_cmpk_eq_u32", [](u32 a, u32 b, bool& s) { return s = a == (b & 0xffff), a; });
  add_compare("s_cmpk_lg_u32", [](u32 a, u32 b, bool& s) { return s = a != (b & 0xffff), a; });
  add_compare("s_cmpk_gt_u32", [](u32 a, u32 b, bool& s) { return s = a > (b & 0xffff), a; });
  add_compare("s_cmpk_ge_u32", [](u32 a, u32 b, bool& s) { return s = a >= (b & 0xffff), a; });
  add_compare("s_cmpk_lt_u32", [](u32 a, u32 b, bool& s) { return s = a < (b & 0xffff), a; });
  add_compare("s_cmpk_le_u32", [](u32 a, u32 b, bool& s) { return s = a <= (b & 0xffff), a; });
}

}  // namespace

void register_scalar() {
  register_moves();
  register_arithmetic();
  register_products_and_minima();
  register_compares();
}

}  // namespace instinct::INSTINCT_LEVEL
