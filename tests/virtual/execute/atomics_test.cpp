// Atomic operations, in memory and LDS, with and without result.
#include <functional>

#include "machine.h"

namespace instinct {
namespace {

using F = std::function<u64(u64 old, u64 x, u64 compare)>;
struct Case {
  std::string memory;  // after "atomic_"; empty: LDS only
  std::string lds;     // "ds_" + this + "_" + type; empty: memory only
  std::string type;
  u32 bytes;
  bool compares;
  F of;
};

float f32(u64 x) { return std::bit_cast<float>(u32(x)); }
u64 bits(float x) { return std::bit_cast<u32>(x); }
double f64(u64 x) { return std::bit_cast<double>(x); }
u64 bits(double x) { return std::bit_cast<u64>(x); }

std::vector<Case> integers(u32 bytes) {
  const std::string x2 = bytes == 8 ? "_x2" : "", n = bytes == 8 ? "64" : "32";
  const auto is = [bytes](u64 x) { return bytes == 8 ? i64(x) : i64(i32(x)); };
  return {{"add" + x2, "add", "u" + n, bytes, false, [](u64 old, u64 x, u64) { return old + x; }},
          {"sub" + x2, "sub", "u" + n, bytes, false, [](u64 old, u64 x, u64) { return old - x; }},
          {"", "rsub", "u" + n, bytes, false, [](u64 old, u64 x, u64) { return x - old; }},
          {"swap" + x2, "", "", bytes, false, [](u64, u64 x, u64) { return x; }},
          {"cmpswap" + x2, "cmpst", "b" + n, bytes, true,
           [](u64 old, u64 x, u64 c) { return old == c ? x : old; }},
          {"", "mskor", "b" + n, bytes, true, [](u64 old, u64 x, u64 c) { return (old & ~c) | x; }},
          {"smin" + x2, "min", "i" + n, bytes, false,
           [is](u64 old, u64 x, u64) { return is(old) < is(x) ? old : x; }},
          {"umin" + x2, "min", "u" + n, bytes, false,
           [](u64 old, u64 x, u64) { return std::min(old, x); }},
          {"smax" + x2, "max", "i" + n, bytes, false,
           [is](u64 old, u64 x, u64) { return is(old) > is(x) ? old : x; }},
          {"umax" + x2, "max", "u" + n, bytes, false,
           [](u64 old, u64 x, u64) { return std::max(old, x); }},
          {"and" + x2, "and", "b" + n, bytes, false, [](u64 old, u64 x, u64) { return old & x; }},
          {"or" + x2, "or", "b" + n, bytes, false, [](u64 old, u64 x, u64) { return old | x; }},
          {"xor" + x2, "xor", "b" + n, bytes, false, [](u64 old, u64 x, u64) { return old ^ x; }},
          // Up to the limit, then 0; down to 0, then the limit.
          {"inc" + x2, "inc", "u" + n, bytes, false,
           [](u64 old, u64 x, u64) { return old >= x ? 0 : old + 1; }},
          {"dec" + x2, "dec", "u" + n, bytes, false,
           [](u64 old, u64 x, u64) { return old == 0 || old > x ? x : old - 1; }}};
}

u64 pairwise(u64 a, u64 b, u32 shift, float (*widen)(u32), u32 (*narrow)(float)) {
  u64 r = 0;
  for (u32 at = 0; at < 32; at += shift) {
    r |= u64{narrow(widen(a >> at & 0xffff) + widen(b >> at & 0xffff))} << at;
  }
  return r;
}
// Small multiples of 1/4: exact in both formats.
float of_f16(u32 h) {
  const float size = h & 0x7fff ? std::bit_cast<float>(((h & 0x7fff) << 13) + (112 << 23)) : 0;
  return h & 0x8000 ? -size : size;
}
u32 to_f16(float x) {
  const u32 b = std::bit_cast<u32>(x);
  return x == 0 ? b >> 16 & 0x8000 : (b >> 16 & 0x8000) | (((b & 0x7fffffff) - (112 << 23)) >> 13);
}
float of_bf16(u32 h) { return std::bit_cast<float>(h << 16); }
u32 to_bf16(float x) { return std::bit_cast<u32>(x) >> 16; }

std::vector<Case> floats() {
  return {
      {"add_f32", "add", "f32", 4, false, [](u64 o, u64 x, u64) { return bits(f32(o) + f32(x)); }},
      {"", "min", "f32", 4, false, [](u64 o, u64 x, u64) { return f32(o) < f32(x) ? o : x; }},
      {"", "max", "f32", 4, false, [](u64 o, u64 x, u64) { return f32(o) > f32(x) ? o : x; }},
      {"", "cmpst", "f32", 4, true, [](u64 o, u64 x, u64 c) { return f32(o) == f32(c) ? x : o; }},
      {"add_f64", "add", "f64", 8, false, [](u64 o, u64 x, u64) { return bits(f64(o) + f64(x)); }},
      {"min_f64", "min", "f64", 8, false,
       [](u64 o, u64 x, u64) { return f64(o) < f64(x) ? o : x; }},
      {"max_f64", "max", "f64", 8, false,
       [](u64 o, u64 x, u64) { return f64(o) > f64(x) ? o : x; }},
      {"", "cmpst", "f64", 8, true, [](u64 o, u64 x, u64 c) { return f64(o) == f64(c) ? x : o; }},
      {"pk_add_f16", "pk_add", "f16", 4, false,
       [](u64 o, u64 x, u64) { return pairwise(o, x, 16, of_f16, to_f16); }},
      {"pk_add_bf16", "pk_add", "bf16", 4, false,
       [](u64 o, u64 x, u64) { return pairwise(o, x, 16, of_bf16, to_bf16); }}};
}

u64 word(const Case& test, u32 i, u32 salt) {
  const float quarter = static_cast<float>(i * salt % 11) * 0.25f + 0.25f;
  if (test.type == "f32") return bits(quarter);
  if (test.type == "f64") return bits(double(quarter));
  if (test.type == "f16") return to_f16(quarter) | to_f16(quarter + 1) << 16;
  if (test.type == "bf16") return to_bf16(quarter) | to_bf16(quarter + 1) << 16;
  return test.bytes == 8 ? u64{sample(i, salt)} << 32 | sample(i + 7, salt) : sample(i, salt);
}

// Lanes 2 i and 2 i + 1 share a word; the lower goes first.
struct Fixture {
  explicit Fixture(const Case& test) : m(Target::gfx950, Checks::parse("all")), test(test) {
    const u32 size = test.bytes;
    for (u32 i = 0; i < 32; ++i) {
      const u64 value = word(test, i, 3);
      std::memcpy(memory + size * i, &value, size);
      std::memcpy(m.lds().data.get() + size * i, &value, size);
      expected[i] = value;
    }
    std::memset(m.lds().undefined.get(), 0, 32 * size);
    m.memory.add(reinterpret_cast<u64>(memory), 32 * size, Allocation::Kind::host);
    m.see_memory();
    m.set_s64(4, reinterpret_cast<u64>(memory));
    m.s(6) = 32 * size;
    m.s(7) = 0x20000;
    const u64 mask = size == 8 ? ~u64{0} : 0xffffffff;
    for (u32 lane = 0; lane < 64; ++lane) {
      const u64 x = word(test, lane, 5);
      const u64 compare = lane % 3 ? word(test, lane, 9) : expected[lane / 2];
      m.v(2)[lane] = size * (lane / 2);
      m.set_v64(4, lane, reinterpret_cast<u64>(memory) + size * (lane / 2));
      // data, then what it is compared with
      m.v(8)[lane] = u32(x);
      if (size == 8) m.v(9)[lane] = u32(x >> 32);
      const u32 second = size == 8 ? 10 : 9;
      m.v(second)[lane] = u32(compare);
      if (size == 8) m.v(11)[lane] = u32(compare >> 32);
      old[lane] = expected[lane / 2];
      expected[lane / 2] = test.of(old[lane], x, compare) & mask;
    }
  }

  void check(const u8* place, const std::string& text, bool returns, u32 result) {
    m.run(text);
    m.run("s_waitcnt vmcnt(0) lgkmcnt(0)");
    for (u32 i = 0; i < 32; ++i) {
      u64 got = 0;
      std::memcpy(&got, place + test.bytes * i, test.bytes);
      ASSERT_EQ(got, expected[i]) << text << " word " << i;
    }
    for (u32 lane = 0; lane < 64 && returns; ++lane) {
      const u64 got = test.bytes == 8 ? m.v64(result, lane) : m.v(result)[lane];
      ASSERT_EQ(got, old[lane]) << text << " lane " << lane;
    }
  }

  alignas(8) u8 memory[256];
  Machine m;
  const Case& test;
  u64 expected[32] = {};
  u64 old[64] = {};
};

std::string registers(u32 first, u32 words) {
  if (words < 2) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + words - 1) + "]";
}

void check_memory(const Case& test) {
  const u32 words = test.bytes / 4;
  const std::string data = registers(8, words * (test.compares ? 2 : 1));
  const std::string result = registers(16, words);
  for (const bool returns : {false, true}) {
    const std::string to = returns ? result + ", " : "", sc0 = returns ? " sc0" : "";
    Fixture global(test), flat(test), buffer(test);
    global.check(global.memory,
                 "global_atomic_" + test.memory + " " + to + "v2, " + data + ", s[4:5]" + sc0,
                 returns, 16);
    flat.check(flat.memory, "flat_atomic_" + test.memory + " " + to + "v[4:5], " + data + sc0,
               returns, 16);
    buffer.check(buffer.memory,
                 "buffer_atomic_" + test.memory + " " + data + ", v2, s[4:7], 0 offen" + sc0,
                 returns, 8);
  }
}

void check_lds(const Case& test) {
  const u32 words = test.bytes / 4;
  // LDS has the compared value first.
  const std::string data = registers(8, words), compare = registers(8 + words, words);
  const std::string sources = test.compares ? compare + ", " + data : data;
  Fixture plain(test), returning(test);
  plain.check(plain.m.lds().data.get(), "ds_" + test.lds + "_" + test.type + " v2, " + sources,
              false, 0);
  returning.check(
      returning.m.lds().data.get(),
      "ds_" + test.lds + "_rtn_" + test.type + " " + registers(16, words) + ", v2, " + sources,
      true, 16);
}

TEST(Atomics, All) {
  for (const auto& cases : {integers(4), integers(8), floats()}) {
    for (const Case& test : cases) {
      if (!test.memory.empty()) check_memory(test);
      if (!test.lds.empty()) check_lds(test);
    }
  }
}

TEST(Atomics, ExchangeInLds) {
  for (const u32 bytes : {4u, 8u}) {
    const Case test{"",    "wrxchg", bytes == 8 ? "b64" : "b32",
                    bytes, false,    [](u64, u64 x, u64) { return x; }};
    Fixture f(test);
    f.check(f.m.lds().data.get(),
            "ds_wrxchg_rtn_" + test.type + " " + registers(16, bytes / 4) + ", v2, " +
                registers(8, bytes / 4),
            true, 16);
  }
}

}  // namespace
}  // namespace instinct
