// Comparisons, selection and carries: vector instructions with a bit for each lane in scalar
// registers ("CDNA3 ISA": VOPC, V_CNDMASK_B32, V_ADD_CO_U32 and the like).
#include <cstring>
#include <deque>
#include <string>

#include "virtual/handlers/define.h"
#include "virtual/handlers/shadow.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

// Names have to live as long as the table.
std::string_view keep_name(const char* prefix, const char* op, const char* type) {
  static std::deque<std::string> names;
  return names.emplace_back(std::string(prefix) + op + type);
}

template <class F>
void register_compare(const char* op, const char* type, F f) {
  register_opcode(compare_op(keep_name("v_cmp_", op, type), f));
  register_opcode(compare_op(keep_name("v_cmpx_", op, type), f, writes_exec));
}

template <class T>
void register_integer_compares(const char* type) {
  register_compare("f_", type, [](T, T) { return false; });
  register_compare("lt_", type, [](T a, T b) { return a < b; });
  register_compare("eq_", type, [](T a, T b) { return a == b; });
  register_compare("le_", type, [](T a, T b) { return a <= b; });
  register_compare("gt_", type, [](T a, T b) { return a > b; });
  register_compare("ne_", type, [](T a, T b) { return a != b; });
  register_compare("ge_", type, [](T a, T b) { return a >= b; });
  register_compare("t_", type, [](T, T) { return true; });
}

template <class T>
void register_float_compares(const char* type) {
  register_compare("f_", type, [](T, T) { return false; });
  register_compare("lt_", type, [](T a, T b) { return a < b; });
  register_compare("eq_", type, [](T a, T b) { return a == b; });
  register_compare("le_", type, [](T a, T b) { return a <= b; });
  register_compare("gt_", type, [](T a, T b) { return a > b; });
  register_compare("lg_", type, [](T a, T b) { return a < b || a > b; });
  register_compare("ge_", type, [](T a, T b) { return a >= b; });
  register_compare("o_", type, [](T a, T b) { return a == a && b == b; });
  register_compare("u_", type, [](T a, T b) { return a != a || b != b; });
  register_compare("nge_", type, [](T a, T b) { return !(a >= b); });
  register_compare("nlg_", type, [](T a, T b) { return !(a < b || a > b); });
  register_compare("ngt_", type, [](T a, T b) { return !(a > b); });
  register_compare("nle_", type, [](T a, T b) { return !(a <= b); });
  register_compare("neq_", type, [](T a, T b) { return !(a == b); });
  register_compare("nlt_", type, [](T a, T b) { return !(a < b); });
  register_compare("tru_", type, [](T, T) { return true; });
}

// "CDNA3 ISA", V_CMP_CLASS: bits 0 signaling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5
// -0, 6 +0, 7 +denormal, 8 +normal, 9 +inf.
template <u32 exponent_bits, u32 mantissa_bits, class Word>
bool is_class(Word bits, u32 classes) {
  const Word mantissa = bits & ((Word{1} << mantissa_bits) - 1);
  const u32 exponent = static_cast<u32>(bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const bool negative = bits >> (exponent_bits + mantissa_bits) & 1;
  u32 index;
  if (exponent == (1u << exponent_bits) - 1) {
    if (mantissa)
      index = mantissa >> (mantissa_bits - 1) & 1 ? 1 : 0;
    else
      index = negative ? 2 : 9;
  } else if (exponent) {
    index = negative ? 3 : 8;
  } else if (mantissa) {
    index = negative ? 4 : 7;
  } else {
    index = negative ? 5 : 6;
  }
  return classes >> index & 1;
}

void register_class_compares() {
  register_compare("class_", "f32",
                   [](float a, u32 b) { return is_class<8, 23>(std::bit_cast<u32>(a), b); });
  register_compare("class_", "f64",
                   [](double a, u32 b) { return is_class<11, 52>(std::bit_cast<u64>(a), b); });
  register_compare("class_", "f16", [](Half a, u32 b) { return is_class<5, 10>(u32{a.bits}, b); });
}

// The half formats in order: NaN aside, sign and magnitude.
bool half_is_nan(Half a) { return (a.bits & 0x7fff) > 0x7c00; }
i32 half_key(Half a) {
  const i32 magnitude = a.bits & 0x7fff;
  return a.bits & 0x8000 ? -magnitude : magnitude;
}
struct HalfValue {
  bool nan;
  i32 key;
};
HalfValue value_of(Half a) { return {half_is_nan(a), half_key(a)}; }

bool lt(Half x, Half y) {
  const HalfValue a = value_of(x), b = value_of(y);
  return !a.nan && !b.nan && a.key < b.key;
}
bool eq(Half x, Half y) {
  const HalfValue a = value_of(x), b = value_of(y);
  return !a.nan && !b.nan && a.key == b.key;
}
bool un(Half x, Half y) { return half_is_nan(x) || half_is_nan(y); }

void register_half_compares() {
  const char* type = "f16";
  register_compare("f_", type, [](Half, Half) { return false; });
  register_compare("lt_", type, [](Half a, Half b) { return lt(a, b); });
  register_compare("eq_", type, [](Half a, Half b) { return eq(a, b); });
  register_compare("le_", type, [](Half a, Half b) { return lt(a, b) || eq(a, b); });
  register_compare("gt_", type, [](Half a, Half b) { return lt(b, a); });
  register_compare("lg_", type, [](Half a, Half b) { return lt(a, b) || lt(b, a); });
  register_compare("ge_", type, [](Half a, Half b) { return lt(b, a) || eq(a, b); });
  register_compare("o_", type, [](Half a, Half b) { return !un(a, b); });
  register_compare("u_", type, [](Half a, Half b) { return un(a, b); });
  register_compare("nge_", type, [](Half a, Half b) { return !(lt(b, a) || eq(a, b)); });
  register_compare("nlg_", type, [](Half a, Half b) { return !(lt(a, b) || lt(b, a)); });
  register_compare("ngt_", type, [](Half a, Half b) { return !lt(b, a); });
  register_compare("nle_", type, [](Half a, Half b) { return !(lt(a, b) || eq(a, b)); });
  register_compare("neq_", type, [](Half a, Half b) { return !eq(a, b); });
  register_compare("nlt_", type, [](Half a, Half b) { return !lt(a, b); });
  register_compare("tru_", type, [](Half, Half) { return true; });
}

void select_fast(Wave& w, const Instruction& in) {
  Row scratch[2];
  const u32* a = source_rows(w, in.src(0), 1, &scratch[0]);
  const u32* b = source_rows(w, in.src(1), 1, &scratch[1]);
  alignas(64) u32 words[64], result[64];
  expand_mask(read_scalar64(w, in.src(2)), words);
  for (u32 i = 0; i < 64; ++i) result[i] = (a[i] & ~words[i]) | (b[i] & words[i]);
  const u32 dst = in.dst().first;
  if (w.exec() == ~u64{0})
    std::memcpy(row(w, dst), result, sizeof(Row));
  else
    blend(row(w, dst), result, w.exec());
  if (w.track && w.dirty.test(dst)) set_undefined(w, dst, 1, w.exec(), nullptr);
}

// V_CNDMASK_B32: source 1 where the mask is set, else source 0.
void run_select(Wave& w, const Instruction& in) {
  if (in.plain && !w.slow && !any_undefined(w, in)) return select_fast(w, in);
  Sources s;
  s.dirty = any_undefined(w, in);
  s.mask = w.exec();
  load_sources(w, in, s);  // the mask as a third source is ignored
  const u64 mask = read_scalar64(w, in.src(2));
  alignas(64) u32 words[64];
  expand_mask(mask, words);
  Row result, undefined;
  const u32 *a = s.row[0], *b = s.row[1];
  for (u32 i = 0; i < 64; ++i) result.lane[i] = (a[i] & ~words[i]) | (b[i] & words[i]);
  if (s.dirty) {
    const u32 *ua = s.undefined[0], *ub = s.undefined[1];
    alignas(64) u32 unknown[64];
    expand_mask(undefined_scalar64(w, in.src(2)), unknown);
    for (u32 i = 0; i < 64; ++i) {
      undefined.lane[i] =
          (ua[i] & ~words[i]) | (ub[i] & words[i]) | (unknown[i] & (ua[i] | ub[i] | (a[i] ^ b[i])));
    }
  }
  store_result(w, in, in.dst(), 1, &result, s.dirty ? undefined.lane : nullptr, s.mask);
}

enum class Carry { add, sub, subrev };

template <Carry operation, bool has_carry_in>
void run_carry(Wave& w, const Instruction& in) {
  Sources s;
  s.dirty = any_undefined(w, in);
  load_sources(w, in, s);
  const u64 carry_in = has_carry_in ? read_scalar64(w, in.src(2)) : 0;
  const u32* a = s.row[operation == Carry::subrev ? 1 : 0];
  const u32* b = s.row[operation == Carry::subrev ? 0 : 1];
  Row result, undefined;
  u64 carry = 0;
  for (u32 i = 0; i < 64; ++i) {
    const u64 in_bit = carry_in >> i & 1;
    const u64 sum = operation == Carry::add ? u64{a[i]} + b[i] + in_bit : u64{a[i]} - b[i] - in_bit;
    result.lane[i] = static_cast<u32>(sum);
    carry |= (sum >> 32 & 1) << i;
    if (in.clamp && (sum >> 32 & 1)) result.lane[i] = operation == Carry::add ? ~0u : 0;
  }
  if (s.dirty) {
    const u64 unknown = has_carry_in ? undefined_scalar64(w, in.src(2)) : 0;
    for (u32 i = 0; i < 64; ++i) {
      const bool bad = s.undefined[0][i] || s.undefined[1][i] || (unknown >> i & 1);
      undefined.lane[i] = bad ? ~0u : 0;
    }
  }
  const u64 exec = w.exec();
  const Operand& mask = in.operand[1];
  write_scalar64(w, mask, carry & exec);
  if (w.track) {
    set_undefined_scalar64(w, mask, s.dirty ? sign_mask(undefined.lane) & exec : 0);
  }
  store_result(w, in, in.dst(), 1, &result, s.dirty ? undefined.lane : nullptr, s.mask);
}

template <bool is_signed>
void run_mad64(Wave& w, const Instruction& in) {
  Sources s;
  s.dirty = any_undefined(w, in);
  load_sources(w, in, s);
  Row result[2], undefined[2];
  u64 carry = 0;
  for (u32 i = 0; i < 64; ++i) {
    const u64 product =
        is_signed
            ? static_cast<u64>(i64{static_cast<i32>(s.row[0][i])} * static_cast<i32>(s.row[1][i]))
            : u64{s.row[0][i]} * s.row[1][i];
    const u64 addend = s.row[2][i] | u64{s.row[2][64 + i]} << 32;
    const u64 sum = product + addend;
    result[0].lane[i] = static_cast<u32>(sum);
    result[1].lane[i] = static_cast<u32>(sum >> 32);
    i64 unused;
    const bool over = is_signed ? __builtin_add_overflow(static_cast<i64>(product),
                                                         static_cast<i64>(addend), &unused)
                                : sum < product;
    carry |= u64{over} << i;
  }
  if (s.dirty) {
    for (u32 i = 0; i < 64; ++i) {
      const u32 any = s.undefined[0][i] | s.undefined[1][i];
      const u32 low = any | s.undefined[2][i];
      undefined[0].lane[i] = low ? ~0u : 0;
      // The high word depends on the low one by a carry.
      undefined[1].lane[i] = low | s.undefined[2][64 + i] ? ~0u : 0;
    }
  }
  write_scalar64(w, in.operand[1], carry & w.exec());
  if (w.track) {
    set_undefined_scalar64(w, in.operand[1], s.dirty ? sign_mask(undefined[1].lane) & w.exec() : 0);
  }
  store_result(w, in, in.dst(), 2, result, s.dirty ? undefined[0].lane : nullptr, s.mask);
}

void register_carries() {
  const auto add = [](std::string_view name, Handler handler) {
    register_opcode(handler_op(name, handler, Unit::valu, 2));
  };
  add("v_add_co_u32", &run_carry<Carry::add, false>);
  add("v_sub_co_u32", &run_carry<Carry::sub, false>);
  add("v_subrev_co_u32", &run_carry<Carry::subrev, false>);
  add("v_addc_co_u32", &run_carry<Carry::add, true>);
  add("v_subb_co_u32", &run_carry<Carry::sub, true>);
  add("v_subbrev_co_u32", &run_carry<Carry::subrev, true>);
  for (const bool is_signed : {false, true}) {
    Opcode mad = handler_op(is_signed ? "v_mad_i64_i32" : "v_mad_u64_u32",
                            is_signed ? &run_mad64<true> : &run_mad64<false>, Unit::valu, 2);
    mad.dst_words = 2;
    mad.src_words[2] = 2;
    mad.src_type[2] = is_signed ? Type::i64 : Type::b64;
    register_opcode(mad);
  }
  register_opcode(handler_op("v_cndmask_b32", &run_select, Unit::valu));
}

}  // namespace

void register_vector_compare() {
  register_integer_compares<i32>("i32");
  register_integer_compares<u32>("u32");
  register_integer_compares<i64>("i64");
  register_integer_compares<u64>("u64");
  register_integer_compares<i16>("i16");
  register_integer_compares<u16>("u16");
  register_float_compares<float>("f32");
  register_float_compares<double>("f64");
  register_half_compares();
  register_class_compares();
  register_carries();
}

}  // namespace instinct::INSTINCT_LEVEL
