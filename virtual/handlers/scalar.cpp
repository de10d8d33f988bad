// Scalar arithmetic ("CDNA3 ISA", chapter "Instructions": SOP1, SOP2, SOPC, SOPK).
#include <bit>
#include <type_traits>

#include "virtual/handlers/define.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

template <class T>
T read(const Wave& w, const Operand& operand) {
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(read_scalar64(w, operand));
  else
    return static_cast<T>(read_scalar(w, operand));
}

template <class T>
std::make_unsigned_t<T> read_undefined(const Wave& w, const Operand& operand) {
  if constexpr (sizeof(T) == 8)
    return undefined_scalar64(w, operand);
  else
    return undefined_scalar(w, operand);
}

template <class T>
void write(Wave& w, const Operand& operand, T value) {
  if constexpr (sizeof(T) == 8)
    write_scalar64(w, operand, static_cast<u64>(value));
  else
    write_scalar(w, operand, static_cast<u32>(value));
}

template <class T>
void write_undefined(Wave& w, const Operand& operand, T bits) {
  if constexpr (sizeof(T) == 8)
    set_undefined_scalar64(w, operand, bits);
  else
    set_undefined_scalar(w, operand, bits);
}

bool is_exec(const Operand& operand) { return operand.is_scalar() && operand.first >= kExec; }

// Undefined bits of the result: `all` if anything is undefined, or bit by bit.
enum class Spread { all, and_, or_, xor_, andn2, orn2, shift };

template <Spread kSpread, class T>
T spread(T a, T b, T ua, T ub, T amount) {
  switch (kSpread) {
    case Spread::and_: return (ua & (b | ub)) | (ub & (a | ua));
    case Spread::andn2: return (ua & (~b | ub)) | (ub & (a | ua));
    case Spread::or_: return (ua & (~b | ub)) | (ub & (~a | ua));
    case Spread::orn2: return (ua & (b | ub)) | (ub & (~a | ua));
    case Spread::xor_: return ua | ub;
    case Spread::shift: return ub ? ~T{0} : amount;
    default: return ua | ub ? ~T{0} : T{0};
  }
}

// After an operation with result `value`: what is undefined of it and of SCC, which is (value != 0)
// for logic.
template <class R>
void finish(Wave& w, const Instruction& in, R value, R undefined) {
  write_undefined<R>(w, in.dst(), undefined);
  if (undefined && is_exec(in.dst())) use_scalar(w, in, in.dst().first, undefined, "EXEC");
  if (!(in.opcode->flags & kWritesScc)) return;
  w.scc_undefined = undefined && (value & ~undefined) == 0;
}

// F(a, b, scc): SCC is read and written through the reference.
template <class F>
struct Types : Types<decltype(&F::operator())> {};
template <class C, class R, class A, class B>
struct Types<R (C::*)(A, B, bool&) const> {
  using Result = R;
  using First = A;
  using Second = B;
  static constexpr int kSources = 2;
};
template <class C, class R, class A>
struct Types<R (C::*)(A, bool&) const> {
  using Result = R;
  using First = A;
  using Second = A;
  static constexpr int kSources = 1;
};

template <class F, Spread kSpread>
void run_scalar(Wave& w, const Instruction& in) {
  using S = Types<F>;
  using A = typename S::First;
  using B = typename S::Second;
  using R = typename S::Result;
  using U = std::make_unsigned_t<R>;
  const A a = read<A>(w, in.src(0));
  bool scc = w.scc;
  R r;
  B b{};
  if constexpr (S::kSources == 2) {
    b = read<B>(w, in.src(1));
    r = F{}(a, b, scc);
  } else {
    r = F{}(a, scc);
  }
  bool dirty = false;
  U undefined = 0;
  if (w.track) {
    dirty = any_undefined_scalar(w, in) || ((in.opcode->flags & kReadsScc) && w.scc_undefined);
    if (dirty) {
      const auto ua = read_undefined<A>(w, in.src(0));
      std::make_unsigned_t<B> ub = 0;
      if constexpr (S::kSources == 2) ub = read_undefined<B>(w, in.src(1));
      const bool carry = (in.opcode->flags & kReadsScc) && w.scc_undefined;
      if constexpr (S::kSources == 1 && kSpread == Spread::xor_) {
        undefined = static_cast<U>(ua);
      } else if constexpr (kSpread == Spread::shift) {
        bool ignored = false;
        undefined = ub ? ~U{0} : static_cast<U>(F{}(static_cast<A>(ua), b, ignored));
      } else if constexpr (kSpread != Spread::all) {
        undefined = spread<kSpread, U>(static_cast<U>(a), static_cast<U>(b), static_cast<U>(ua),
                                       static_cast<U>(ub), 0);
      } else {
        undefined = ua || ub || carry ? ~U{0} : U{0};
      }
    }
  }
  if (in.opcode->flags & kWritesScc) w.scc = scc;
  write<R>(w, in.dst(), r);
  if (w.track) finish<U>(w, in, static_cast<U>(r), undefined);
}

// Comparisons set SCC only.
template <class F>
void run_scalar_compare(Wave& w, const Instruction& in) {
  using S = Types<F>;
  using A = typename S::First;
  using B = typename S::Second;
  bool scc = w.scc;
  F{}(read<A>(w, in.src(0)), read<B>(w, in.src(1)), scc);
  w.scc = scc;
  if (w.track) w.scc_undefined = any_undefined_scalar(w, in);
}

template <Spread kSpread = Spread::all, class F>
void add(std::string_view name, F, u16 flags = kWritesScc) {
  using S = Types<F>;
  Opcode opcode = handler_op(name, &run_scalar<F, kSpread>, Unit::salu, 1, flags);
  opcode.src_type[0] = type_of<typename S::First>();
  opcode.src_type[1] = type_of<typename S::Second>();
  register_opcode(opcode);
}

template <class F>
void add_compare(std::string_view name, F) {
  using S = Types<F>;
  Opcode opcode = handler_op(name, &run_scalar_compare<F>, Unit::salu, 0, kWritesScc);
  opcode.src_type[0] = type_of<typename S::First>();
  opcode.src_type[1] = type_of<typename S::Second>();
  register_opcode(opcode);
}

void register_moves() {
  add<Spread::xor_>("s_mov_b32", [](u32 a, bool&) { return a; }, 0);
  add<Spread::xor_>("s_mov_b64", [](u64 a, bool&) { return a; }, 0);
  add<Spread::xor_>(
      "s_movk_i32", [](u32 a, bool&) { return static_cast<u32>(i32{static_cast<i16>(a)}); }, 0);
  add<Spread::xor_>("s_not_b32", [](u32 a, bool& scc) { return scc = ~a != 0, ~a; });
  add<Spread::xor_>("s_not_b64", [](u64 a, bool& scc) { return scc = ~a != 0, ~a; });
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
  add<Spread::xor_>(
      "s_sext_i32_i8", [](u32 a, bool&) { return static_cast<u32>(i32{static_cast<i8>(a)}); }, 0);
  add<Spread::xor_>(
      "s_sext_i32_i16", [](u32 a, bool&) { return static_cast<u32>(i32{static_cast<i16>(a)}); }, 0);
  add("s_abs_i32", [](u32 a, bool& scc) {
    const u32 r = static_cast<i32>(a) < 0 ? 0 - a : a;
    scc = r != 0;
    return r;
  });
}

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
      kWritesScc | kReadsScc);
  add(
      "s_subb_u32",
      [](u32 a, u32 b, bool& s) {
        const u64 r = u64{a} - b - s;
        s = r >> 32 & 1;
        return static_cast<u32>(r);
      },
      kWritesScc | kReadsScc);
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

template <class T>
void register_logic(std::string_view and_name, std::string_view or_name, std::string_view xor_name,
                    std::string_view andn2, std::string_view orn2, std::string_view nand,
                    std::string_view nor, std::string_view xnor) {
  add<Spread::and_>(and_name, [](T a, T b, bool& s) {
    const T r = a & b;
    s = r != 0;
    return r;
  });
  add<Spread::or_>(or_name, [](T a, T b, bool& s) {
    const T r = a | b;
    s = r != 0;
    return r;
  });
  add<Spread::xor_>(xor_name, [](T a, T b, bool& s) {
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
  add<Spread::and_>(nand, [](T a, T b, bool& s) {
    const T r = ~(a & b);
    s = r != 0;
    return r;
  });
  add<Spread::or_>(nor, [](T a, T b, bool& s) {
    const T r = ~(a | b);
    s = r != 0;
    return r;
  });
  add<Spread::xor_>(xnor, [](T a, T b, bool& s) {
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
  add("s_pack_ll_b32_b16", [](u32 a, u32 b, bool&) { return (a & 0xffff) | b << 16; }, 0);
  add("s_pack_lh_b32_b16", [](u32 a, u32 b, bool&) { return (a & 0xffff) | (b & 0xffff0000); }, 0);
  add("s_pack_hh_b32_b16", [](u32 a, u32 b, bool&) { return a >> 16 | (b & 0xffff0000); }, 0);
  add<Spread::all>("s_cselect_b32", [](u32 a, u32 b, bool& s) { return s ? a : b; }, kReadsScc);
  add<Spread::all>("s_cselect_b64", [](u64 a, u64 b, bool& s) { return s ? a : b; }, kReadsScc);
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
  const auto k = [](u32 b) { return i32{static_cast<i16>(b)}; };
  (void)k;
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
  register_bit_counts();
  register_arithmetic();
  register_logic<u32>("s_and_b32", "s_or_b32", "s_xor_b32", "s_andn2_b32", "s_orn2_b32",
                      "s_nand_b32", "s_nor_b32", "s_xnor_b32");
  register_logic<u64>("s_and_b64", "s_or_b64", "s_xor_b64", "s_andn2_b64", "s_orn2_b64",
                      "s_nand_b64", "s_nor_b64", "s_xnor_b64");
  register_shifts();
  register_compares();
}

}  // namespace instinct::INSTINCT_LEVEL
