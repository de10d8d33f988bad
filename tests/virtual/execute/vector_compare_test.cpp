// Comparisons, selection and carries.
#include <cmath>
#include <functional>

#include "machine.h"

namespace instinct {
namespace {

const char* const integers[] = {"f", "lt", "eq", "le", "gt", "ne", "ge", "t"};
bool integer_holds(int op, bool less, bool equal) {
  switch (op) {
    case 0: return false;
    case 1: return less;
    case 2: return equal;
    case 3: return less || equal;
    case 4: return !less && !equal;
    case 5: return !equal;
    case 6: return !less;
    default: return true;
  }
}

// "CDNA3 ISA": the second eight are the negations of the first, in this order.
const char* const are_floats[] = {"f", "lt",  "eq",  "le",  "gt",  "lg",  "ge",  "o",
                                  "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"};
bool float_holds(int op, double a, double b) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  switch (op) {
    case 0: return false;
    case 1: return a < b;
    case 2: return a == b;
    case 3: return a <= b;
    case 4: return a > b;
    case 5: return a < b || a > b;
    case 6: return a >= b;
    case 7: return !unordered;
    case 8: return unordered;
    case 9: return !(a >= b);
    case 10: return !(a < b || a > b);
    case 11: return !(a > b);
    case 12: return !(a <= b);
    case 13: return a != b;
    case 14: return !(a < b);
    default: return true;
  }
}

// Runs v_cmp and v_cmpx and compares with `holds(lane)`.
void check(Machine& m, const std::string& op, u32 words, const std::function<bool(u32)>& holds) {
  const u64 exec = 0xf0f0ffff00ff1234;
  const std::string a = words == 2 ? "v[2:3]" : "v2", b = words == 2 ? "v[4:5]" : "v4";
  u64 expected = 0;
  for (u32 lane = 0; lane < 64; ++lane) expected |= u64{holds(lane)} << lane;
  m.wave().set_exec(exec);
  m.run("v_cmp_" + op + "_e64 s[10:11], " + a + ", " + b);
  ASSERT_EQ(m.s64(10), expected & exec) << op;
  m.run("v_cmpx_" + op + "_e64 s[10:11], " + a + ", " + b);
  ASSERT_EQ(m.s64(10), expected & exec) << op;
  ASSERT_EQ(m.wave().exec(), expected & exec) << op;
}

// Equal values in every third lane.
void fill(Machine& m) {
  for (u32 lane = 0; lane < 64; ++lane) {
    for (u32 r = 2; r < 6; ++r) m.v(r)[lane] = sample(lane, lane % 3 ? r : r % 2);
  }
}

template <class T>
void check_integers(const char* type) {
  Machine m;
  fill(m);
  for (int op = 0; op < 8; ++op) {
    check(m, std::string(integers[op]) + "_" + type, sizeof(T) == 8 ? 2 : 1, [&](u32 lane) {
      const T a = static_cast<T>(sizeof(T) == 8 ? m.v64(2, lane) : m.v(2)[lane]);
      const T b = static_cast<T>(sizeof(T) == 8 ? m.v64(4, lane) : m.v(4)[lane]);
      return integer_holds(op, a < b, a == b);
    });
  }
}

TEST(VectorCompare, Integers) {
  check_integers<i32>("i32");
  check_integers<u32>("u32");
  check_integers<i64>("i64");
  check_integers<u64>("u64");
  check_integers<i16>("i16");
  check_integers<u16>("u16");
}

const double numbers[] = {0, -0.0, 1, -1, 2.5, -2.5, 1e-6, 60000, INFINITY, -INFINITY, NAN};

u32 half_of(double x) {
  if (std::isnan(x)) return 0x7e00;
  const u32 sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs(x);
  if (size == 0) return sign;
  if (std::isinf(size)) return sign | 0x7c00;
  const int exponent = std::max(std::ilogb(size), -14);
  return sign | (u32(exponent + 14) * 1024 + u32(std::nearbyint(std::ldexp(size, 10 - exponent))));
}

TEST(VectorCompare, Floats) {
  for (const std::string type : {"f32", "f64", "f16"}) {
    Machine m;
    const auto number = [](u32 lane, u32 k) { return numbers[(k ? lane / 8 : lane) % 11]; };
    for (u32 lane = 0; lane < 64; ++lane) {
      for (u32 k = 0; k < 2; ++k) {
        const double x = number(lane, k);
        if (type == "f32") m.v(2 + 2 * k)[lane] = std::bit_cast<u32>(static_cast<float>(x));
        if (type == "f64") m.set_v64(2 + 2 * k, lane, std::bit_cast<u64>(x));
        if (type == "f16") m.v(2 + 2 * k)[lane] = half_of(x);
      }
    }
    for (int op = 0; op < 16; ++op) {
      check(m, are_floats[op] + ("_" + type), type == "f64" ? 2 : 1,
            [&](u32 lane) { return float_holds(op, number(lane, 0), number(lane, 1)); });
    }
  }
}

// "CDNA3 ISA", V_CMP_CLASS_F32.
TEST(VectorCompare, Classes) {
  const u32 singles[] = {0x7f800001, 0x7fc00000, 0xff800000, 0xbf800000, 0x80000001,
                         0x80000000, 0,          1,          0x3f800000, 0x7f800000};
  const u64 doubles[] = {0x7ff0000000000001,
                         0x7ff8000000000000,
                         0xfff0000000000000,
                         0xbff0000000000000,
                         0x8000000000000001,
                         0x8000000000000000,
                         0,
                         1,
                         0x3ff0000000000000,
                         0x7ff0000000000000};
  const u32 halves[] = {0x7c01, 0x7e00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 1, 0x3c00, 0x7c00};
  Machine m;
  for (u32 k = 0; k < 10; ++k) {
    m.v(2)[k] = singles[k];
    m.set_v64(4, k, doubles[k]);
    m.v(6)[k] = halves[k];
  }
  m.wave().set_exec(0x3ff);
  for (u32 k = 0; k < 10; ++k) {
    for (const char* source : {"f32 vcc, v2", "f64 vcc, v[4:5]", "f16 vcc, v6"}) {
      m.run(std::string("v_cmp_class_") + source + ", " + std::to_string(1 << k));
      EXPECT_EQ(m.s64(vcc_register), u64{1} << k) << source;
    }
  }
  m.run("v_cmpx_class_f16 vcc, v6, 3");
  m.run("v_cmpx_class_f64 vcc, v[4:5], 3");
  m.run("v_cmpx_class_f32 vcc, v2, 2");
  EXPECT_EQ(m.wave().exec(), 2u);
}

TEST(VectorCompare, Selects) {
  Machine m;
  fill(m);
  m.set_s64(vcc_register, 0x123456789abcdef0);
  m.wave().set_exec(0xff00ff00ff00ffff);
  Row old;
  std::memcpy(old.lane, m.v(5), sizeof(old));
  m.run("v_cndmask_b32_e32 v5, v2, v3, vcc");
  for (u32 lane = 0; lane < 64; ++lane) {
    const bool on = m.wave().exec() >> lane & 1;
    const u32 chosen = m.s64(vcc_register) >> lane & 1 ? m.v(3)[lane] : m.v(2)[lane];
    ASSERT_EQ(m.v(5)[lane], on ? chosen : old.lane[lane]);
  }
  m.run("v_cndmask_b32_e64 v5, -v2, 1.0, vcc");
  EXPECT_EQ(m.v(5)[0], m.v(2)[0] ^ 0x80000000);
  EXPECT_EQ(m.v(5)[4], 0x3f800000u);
}

TEST(VectorCompare, Carries) {
  Machine m;
  fill(m);
  const u64 carry = 0x5555aaaa3333cccc;
  struct Case {
    const char* text;
    bool subtracts, reversed, takes;
  };
  for (const Case& test : {Case{"v_add_co_u32 v8, s[10:11], v2, v4", false, false, false},
                           {"v_sub_co_u32 v8, s[10:11], v2, v4", true, false, false},
                           {"v_subrev_co_u32 v8, s[10:11], v2, v4", true, true, false},
                           {"v_addc_co_u32 v8, s[10:11], v2, v4, s[12:13]", false, false, true},
                           {"v_subb_co_u32 v8, s[10:11], v2, v4, s[12:13]", true, false, true},
                           {"v_subbrev_co_u32 v8, s[10:11], v2, v4, s[12:13]", true, true, true}}) {
    m.set_s64(12, carry);
    m.run(test.text);
    for (u32 lane = 0; lane < 64; ++lane) {
      const i64 in = test.takes ? carry >> lane & 1 : 0;
      i64 a = m.v(2)[lane], b = m.v(4)[lane];
      if (test.reversed) std::swap(a, b);
      const i64 sum = test.subtracts ? a - b - in : a + b + in;
      ASSERT_EQ(m.v(8)[lane], u32(sum)) << test.text;
      ASSERT_EQ(m.s64(10) >> lane & 1, u64(sum < 0 || sum > 0xffffffffll)) << test.text;
    }
  }
}

TEST(VectorCompare, WideMultiplyAdd) {
  Machine m;
  fill(m);
  for (u32 lane = 0; lane < 64; ++lane)
    m.set_v64(6, lane, u64{sample(lane, 9)} << 32 | sample(lane, 8));
  m.run("v_mad_u64_u32 v[8:9], s[10:11], v2, v4, v[6:7]");
  for (u32 lane = 0; lane < 64; ++lane) {
    const unsigned __int128 sum =
        static_cast<unsigned __int128>(u64{m.v(2)[lane]} * m.v(4)[lane]) + m.v64(6, lane);
    ASSERT_EQ(m.v64(8, lane), u64(sum));
    ASSERT_EQ(m.s64(10) >> lane & 1, u64(sum >> 64));
  }
  m.run("v_mad_i64_i32 v[8:9], s[10:11], v2, v4, v[6:7]");
  for (u32 lane = 0; lane < 64; ++lane) {
    const i64 product = i64{i32(m.v(2)[lane])} * i32(m.v(4)[lane]);
    ASSERT_EQ(m.v64(8, lane), u64(product) + m.v64(6, lane));
  }
}

}  // namespace
}  // namespace instinct
