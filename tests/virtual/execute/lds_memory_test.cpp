// Loads and stores of every shape, in LDS, scratch, global, flat and buffer memory.
#include "machine.h"

namespace instinct {
namespace {

struct Shape {
  u32 bytes;
  bool is_signed;
  int half;  // 0 the whole register, 1 and 2 the low and the high half; the other is kept
};

struct LoadCase {
  std::string name;
  Shape shape;
};

std::vector<LoadCase> memory_loads(const std::string& kind) {
  return {{kind + "_load_dword", {4, false, 0}},     {kind + "_load_dwordx2", {8, false, 0}},
          {kind + "_load_dwordx3", {12, false, 0}},  {kind + "_load_dwordx4", {16, false, 0}},
          {kind + "_load_ubyte", {1, false, 0}},     {kind + "_load_sbyte", {1, true, 0}},
          {kind + "_load_ushort", {2, false, 0}},    {kind + "_load_sshort", {2, true, 0}},
          {kind + "_load_ubyte_d16", {1, false, 1}}, {kind + "_load_ubyte_d16_hi", {1, false, 2}},
          {kind + "_load_sbyte_d16", {1, true, 1}},  {kind + "_load_sbyte_d16_hi", {1, true, 2}},
          {kind + "_load_short_d16", {2, false, 1}}, {kind + "_load_short_d16_hi", {2, false, 2}}};
}

std::vector<LoadCase> memory_stores(const std::string& kind) {
  return {
      {kind + "_store_dword", {4, false, 0}},       {kind + "_store_dwordx2", {8, false, 0}},
      {kind + "_store_dwordx3", {12, false, 0}},    {kind + "_store_dwordx4", {16, false, 0}},
      {kind + "_store_byte", {1, false, 0}},        {kind + "_store_short", {2, false, 0}},
      {kind + "_store_byte_d16_hi", {1, false, 2}}, {kind + "_store_short_d16_hi", {2, false, 2}}};
}

const std::vector<LoadCase> lds_reads = {
    {"ds_read_b32", {4, false, 0}},     {"ds_read_b64", {8, false, 0}},
    {"ds_read_b96", {12, false, 0}},    {"ds_read_b128", {16, false, 0}},
    {"ds_read_u8", {1, false, 0}},      {"ds_read_i8", {1, true, 0}},
    {"ds_read_u16", {2, false, 0}},     {"ds_read_i16", {2, true, 0}},
    {"ds_read_u8_d16", {1, false, 1}},  {"ds_read_u8_d16_hi", {1, false, 2}},
    {"ds_read_i8_d16", {1, true, 1}},   {"ds_read_i8_d16_hi", {1, true, 2}},
    {"ds_read_u16_d16", {2, false, 1}}, {"ds_read_u16_d16_hi", {2, false, 2}}};
const std::vector<LoadCase> lds_writes = {
    {"ds_write_b32", {4, false, 0}},       {"ds_write_b64", {8, false, 0}},
    {"ds_write_b96", {12, false, 0}},      {"ds_write_b128", {16, false, 0}},
    {"ds_write_b8", {1, false, 0}},        {"ds_write_b16", {2, false, 0}},
    {"ds_write_b8_d16_hi", {1, false, 2}}, {"ds_write_b16_d16_hi", {2, false, 2}}};

u32 words_of(const Shape& shape) { return (shape.bytes + 3) / 4; }

std::string registers(u32 first, u32 words) {
  if (words < 2) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + words - 1) + "]";
}

// What word k of a register becomes.
u32 loaded(const Shape& shape, const u8* from, u32 k, u32 old) {
  u32 word = 0;
  std::memcpy(&word, from + 4 * k, std::min(shape.bytes, 4u));
  if (shape.bytes >= 4) return word;
  if (shape.is_signed && word >> (8 * shape.bytes - 1)) word |= ~0u << 8 * shape.bytes;
  if (shape.half == 1) return (old & 0xffff0000) | (word & 0xffff);
  return shape.half == 2 ? (old & 0xffff) | word << 16 : word;
}

// Global memory that a machine sees, 64 lanes with 16 bytes each and some around.
struct Fixture {
  explicit Fixture(Target target = Target::gfx942) : m(target, Checks::parse("all")) {
    for (u32 i = 0; i < sizeof(bytes); ++i) bytes[i] = static_cast<u8>(sample(i, 77));
    m.memory.add(reinterpret_cast<u64>(bytes), sizeof(bytes), Allocation::Kind::host);
    m.see_memory();
    m.set_s64(4, reinterpret_cast<u64>(bytes));
    for (u32 lane = 0; lane < 64; ++lane) {
      m.v(2)[lane] = 16 * (63 - lane);
      m.set_v64(4, lane, reinterpret_cast<u64>(bytes) + 16 * (63 - lane));
      for (u32 r = 8; r < 12; ++r) m.v(r)[lane] = sample(lane, r);
    }
  }
  u8* place(u32 lane, u32 offset) { return bytes + 16 * (63 - lane) + offset; }

  alignas(16) u8 bytes[64 * 16 + 64];
  Machine m;
};

void check_load(Fixture& f, const LoadCase& test, const std::string& address, u32 offset) {
  Row old[4];
  const u32 words = words_of(test.shape);
  for (u32 k = 0; k < words; ++k) std::memcpy(old[k].lane, f.m.v(8 + k), sizeof(Row));
  f.m.wave().set_exec(~u64{2});
  f.m.run(test.name + " " + registers(8, words) + ", " + address +
          (offset ? " offset:" + std::to_string(offset) : ""));
  f.m.run("s_waitcnt vmcnt(0) lgkmcnt(0)");
  f.m.wave().set_exec(~u64{0});
  for (u32 lane = 0; lane < 64; ++lane) {
    for (u32 k = 0; k < words; ++k) {
      const u32 expected = lane == 1
                               ? old[k].lane[lane]
                               : loaded(test.shape, f.place(lane, offset), k, old[k].lane[lane]);
      ASSERT_EQ(f.m.v(8 + k)[lane], expected) << test.name << " " << address << " lane " << lane;
    }
  }
}

TEST(Memory, Loads) {
  for (const LoadCase& test : memory_loads("global")) {
    Fixture f;
    check_load(f, test, "v2, s[4:5]", 20);
    check_load(f, test, "v[4:5], off", 0);
  }
  for (const LoadCase& test : memory_loads("flat")) {
    Fixture f;
    check_load(f, test, "v[4:5]", 12);
  }
}

TEST(Memory, BufferLoads) {
  for (const LoadCase& test : memory_loads("buffer")) {
    Fixture f;
    f.m.s(6) = sizeof(f.bytes);
    f.m.s(7) = 0x20000;
    f.m.s(12) = 8;
    check_load(f, test, "v2, s[4:7], 0 offen", 20);
    // An offset in a scalar register; a stride and an index.
    f.m.run(test.name + " " + registers(8, words_of(test.shape)) + ", v2, s[4:7], s12 offen");
    f.m.run("s_waitcnt vmcnt(0)");
    if (test.shape.bytes == 4) {
      EXPECT_EQ(f.m.v(8)[3], loaded(test.shape, f.place(3, 8), 0, 0));
    }
  }
  Fixture f;
  f.m.s(5) |= 16 << 16;
  f.m.s(6) = 60;  // records
  f.m.s(7) = 0x20000;
  for (u32 lane = 0; lane < 64; ++lane) f.m.v(2)[lane] = lane;
  f.m.run("buffer_load_dword v8, v2, s[4:7], 0 idxen offset:4");
  f.m.run("s_waitcnt vmcnt(0)");
  for (u32 lane = 0; lane < 64; ++lane) {
    u32 expected = 0;
    if (lane < 60) std::memcpy(&expected, f.bytes + 16 * lane + 4, 4);
    ASSERT_EQ(f.m.v(8)[lane], expected);
  }
}

// Words outside of the range are 0, or not stored, each by itself.
TEST(Memory, BufferRange) {
  Fixture f;
  f.m.s(6) = 64 * 16 - 8;
  f.m.s(7) = 0x20000;
  f.m.run("buffer_load_dwordx4 v[8:11], v2, s[4:7], 0 offen");
  f.m.run("s_waitcnt vmcnt(0)");
  for (u32 k = 0; k < 4; ++k) {
    EXPECT_EQ(f.m.v(8 + k)[0], k < 2 ? loaded({4, false, 0}, f.place(0, 0), k, 0) : 0u);
  }
  u8 before[16];
  std::memcpy(before, f.place(0, 0), 16);
  for (u32 k = 0; k < 4; ++k) f.m.v(8 + k)[0] = k;
  f.m.run("buffer_store_dwordx4 v[8:11], v2, s[4:7], 0 offen");
  EXPECT_EQ(std::memcmp(f.place(0, 8), before + 8, 8), 0);
  EXPECT_EQ(loaded({4, false, 0}, f.place(0, 0), 1, 0), 1u);
  f.m.s(12) = 1u << 30;  // a scalar offset counts, too
  f.m.run("buffer_load_dword v8, v2, s[4:7], s12 offen");
  f.m.run("s_waitcnt vmcnt(0)");
  EXPECT_EQ(f.m.v(8)[5], 0u);
}

void check_store(Fixture& f, const LoadCase& test, const std::string& text, u32 offset) {
  u8 before[sizeof(f.bytes)];
  std::memcpy(before, f.bytes, sizeof(before));
  f.m.wave().set_exec(~u64{2});
  f.m.run(text);
  f.m.wave().set_exec(~u64{0});
  for (u32 lane = 0; lane < 64; ++lane) {
    u8 expected[16];
    for (u32 k = 0; k < words_of(test.shape); ++k) {
      const u32 word = f.m.v(8 + k)[lane] >> (test.shape.half == 2 ? 16 : 0);
      std::memcpy(expected + 4 * k, &word, 4);
    }
    if (lane == 1) std::memcpy(expected, before + (f.place(1, offset) - f.bytes), 16);
    ASSERT_EQ(std::memcmp(f.place(lane, offset), expected, test.shape.bytes), 0) << text;
  }
}

TEST(Memory, Stores) {
  for (const LoadCase& test : memory_stores("global")) {
    Fixture f;
    const std::string data = registers(8, words_of(test.shape));
    check_store(f, test, test.name + " v2, " + data + ", s[4:5] offset:32", 32);
    check_store(f, test, test.name + " v[4:5], " + data + ", off", 0);
  }
  for (const LoadCase& test : memory_stores("flat")) {
    Fixture f;
    check_store(f, test, test.name + " v[4:5], " + registers(8, words_of(test.shape)), 0);
  }
  for (const LoadCase& test : memory_stores("buffer")) {
    Fixture f;
    f.m.s(6) = sizeof(f.bytes);
    f.m.s(7) = 0x20000;
    check_store(f, test,
                test.name + " " + registers(8, words_of(test.shape)) + ", v2, s[4:7], 0 offen", 0);
  }
}

// What was stored comes back, and each lane has scratch of its own.
TEST(Memory, Scratch) {
  const auto loads = memory_loads("scratch"), stores = memory_stores("scratch");
  for (u32 i = 0; i < 4; ++i) {
    Fixture f;
    const std::string data = registers(8, words_of(stores[i].shape));
    f.m.s(14) = 64;
    f.m.run(stores[i].name + " off, " + data + ", s14 offset:16");
    for (u32 lane = 0; lane < 64; ++lane) f.m.v(3)[lane] = 80;
    const std::string to = registers(16, words_of(stores[i].shape));
    f.m.run(loads[i].name + " " + to + ", v3, off");
    f.m.run("s_waitcnt vmcnt(0)");
    for (u32 k = 0; k < words_of(stores[i].shape); ++k) {
      EXPECT_EQ(std::memcmp(f.m.v(16 + k), f.m.v(8 + k), sizeof(Row)), 0) << loads[i].name;
    }
  }
  for (const LoadCase& test : loads) {
    if (test.shape.bytes >= 4) continue;
    Fixture f;
    f.m.run("scratch_store_dword off, v9, off");
    f.m.run(test.name + " v8, off, off offset:1");
    f.m.run("s_waitcnt vmcnt(0)");
    u8 bytes[8];
    std::memcpy(bytes, &f.m.v(9)[7], 4);
    EXPECT_EQ(f.m.v(8)[7], loaded(test.shape, bytes + 1, 0, sample(7, 8))) << test.name;
  }
  for (const LoadCase& test : stores) {
    if (test.shape.bytes >= 4) continue;
    Fixture f;
    f.m.run("scratch_store_dword off, v9, off");
    f.m.run(test.name + " off, v8, off");
    f.m.run("scratch_load_dword v10, off, off");
    f.m.run("s_waitcnt vmcnt(0)");
    const u32 mask = (1u << 8 * test.shape.bytes) - 1;
    const u32 stored = f.m.v(8)[7] >> (test.shape.half == 2 ? 16 : 0);
    EXPECT_EQ(f.m.v(10)[7], (f.m.v(9)[7] & ~mask) | (stored & mask)) << test.name;
  }
}

// The flat space holds LDS and scratch, too.
TEST(Memory, FlatApertures) {
  Fixture f;
  for (u32 lane = 0; lane < 64; ++lane) {
    f.m.set_v64(
        4, lane,
        u64{lane % 2 ? shared_aperture : private_aperture} << 32 | (lane % 2 ? 4 * lane : 8));
  }
  f.m.run("flat_store_dword v[4:5], v8");
  f.m.run("flat_load_dword v12, v[4:5]");
  f.m.run("s_waitcnt vmcnt(0) lgkmcnt(0)");
  EXPECT_EQ(std::memcmp(f.m.v(12), f.m.v(8), sizeof(Row)), 0);
  f.m.run("scratch_load_dword v13, off, off offset:8");
  f.m.run("s_waitcnt vmcnt(0)");
  f.m.wave().set_exec(0x5555555555555555);
  EXPECT_EQ(f.m.v(13)[2], f.m.v(8)[2]);
}

TEST(Memory, ScalarLoads) {
  Fixture f;
  for (const auto& [name, words] : {std::pair{"s_load_dword", 1u},
                                    {"s_load_dwordx2", 2u},
                                    {"s_load_dwordx4", 4u},
                                    {"s_load_dwordx8", 8u},
                                    {"s_load_dwordx16", 16u}}) {
    const std::string to = words == 1 ? "s16" : "s[16:" + std::to_string(15 + words) + "]";
    f.m.run(std::string(name) + " " + to + ", s[4:5], 0x24");
    f.m.run("s_waitcnt lgkmcnt(0)");
    EXPECT_EQ(std::memcmp(&f.m.wave().scalar[16], f.bytes + 0x24, 4 * words), 0) << name;
    f.m.s(12) = 0x10;
    f.m.run(std::string(name) + " " + to + ", s[4:5], s12 offset:0x8");
    f.m.run("s_waitcnt lgkmcnt(0)");
    EXPECT_EQ(std::memcmp(&f.m.wave().scalar[16], f.bytes + 0x18, 4 * words), 0) << name;
  }
  f.m.s(6) = 64;
  f.m.s(7) = 0x20000;
  for (const auto& [name, words] : {std::pair{"s_buffer_load_dword", 1u},
                                    {"s_buffer_load_dwordx2", 2u},
                                    {"s_buffer_load_dwordx4", 4u},
                                    {"s_buffer_load_dwordx8", 8u},
                                    {"s_buffer_load_dwordx16", 16u}}) {
    const std::string to = words == 1 ? "s16" : "s[16:" + std::to_string(15 + words) + "]";
    f.m.run(std::string(name) + " " + to + ", s[4:7], 0x8");
    f.m.run("s_waitcnt lgkmcnt(0)");
    EXPECT_EQ(std::memcmp(&f.m.wave().scalar[16], f.bytes + 8, 4 * std::min(words, 14u)), 0);
    if (words == 16) {
      EXPECT_EQ(f.m.s(31), 0u);
    }
  }
}

TEST(Lds, ReadsAndWrites) {
  for (const LoadCase& test : lds_reads) {
    Fixture f;
    std::memcpy(f.m.lds().data.get(), f.bytes, sizeof(f.bytes));
    std::memset(f.m.lds().undefined.get(), 0, sizeof(f.bytes));
    check_load(f, test, "v2", 20);
  }
  for (const LoadCase& test : lds_writes) {
    Fixture f;
    f.m.run(test.name + " v2, " + registers(8, words_of(test.shape)) + " offset:4");
    for (u32 lane = 0; lane < 64; ++lane) {
      for (u32 k = 0; k < words_of(test.shape); ++k) {
        const u32 word = f.m.v(8 + k)[lane] >> (test.shape.half == 2 ? 16 : 0);
        const u8* at = f.m.lds().data.get() + 16 * (63 - lane) + 4 + 4 * k;
        ASSERT_EQ(std::memcmp(at, &word, std::min(test.shape.bytes, 4u)), 0) << test.name;
      }
    }
  }
}

TEST(Lds, Pairs) {
  for (const auto& [suffix, words, scale] :
       {std::tuple{"b32", 1u, 1u}, {"b64", 2u, 1u}, {"b32", 1u, 64u}, {"b64", 2u, 64u}}) {
    Fixture f;
    for (u32 lane = 0; lane < 64; ++lane) f.m.v(2)[lane] = 8 * lane;
    const std::string st = scale == 64 ? "st64" : "";
    // Offsets in units of the size, or of 64 of them.
    const std::string offsets = scale == 64 ? " offset0:1 offset1:3" : " offset0:64 offset1:192";
    f.m.run("ds_write2" + st + "_" + suffix + " v2, " + registers(8, words) + ", " +
            registers(8 + words, words) + offsets);
    f.m.run("ds_read2" + st + "_" + suffix + " " + registers(16, 2 * words) + ", v2" + offsets);
    f.m.run("s_waitcnt lgkmcnt(0)");
    for (u32 k = 0; k < 2 * words; ++k) {
      EXPECT_EQ(std::memcmp(f.m.v(16 + k), f.m.v(8 + k), sizeof(Row)), 0) << suffix << st;
    }
    u32 word = 0;
    std::memcpy(&word, f.m.lds().data.get() + 8 * 5 + 192 * 4 * words, 4);
    EXPECT_EQ(word, f.m.v(8 + words)[5]);
  }
}

// "CDNA4 ISA": 16 lanes hold rows of 16 elements; lane i gets column i.
void check_transposed_read(u32 bits) {
  const u32 lane_bits = bits == 6 ? 96 : 64, ones = (1u << std::min(bits, 8u)) - 1;
  Fixture f(Target::gfx950);
  for (u32 i = 0; i < 1024; ++i) f.m.lds().data[i] = static_cast<u8>(sample(i, 5));
  std::memset(f.m.lds().undefined.get(), 0, 1024);
  for (u32 lane = 0; lane < 64; ++lane) f.m.v(2)[lane] = lane * lane_bits / 8;
  f.m.run("ds_read_b" + std::to_string(lane_bits) + "_tr_b" + std::to_string(bits) + " " +
          registers(8, lane_bits / 32) + ", v2");
  f.m.run("s_waitcnt lgkmcnt(0)");
  const auto element = [&](u32 group, u32 row, u32 column) {
    const u32 bit = group * 16 * lane_bits + (row * 16 + column) * bits;
    u32 pair = 0;  // an element of six bits may cross a byte
    std::memcpy(&pair, &f.m.lds().data[bit / 8], 2);
    return pair >> bit % 8 & ones;
  };
  for (u32 lane = 0; lane < 64; ++lane) {
    for (u32 e = 0; e < lane_bits / bits; ++e) {
      const u32 word = e * bits / 32;
      const u64 pair = f.m.v(8 + word)[lane] | u64{f.m.v(9 + word)[lane]} << 32;
      ASSERT_EQ(pair >> e * bits % 32 & ones, element(lane / 16, e, lane % 16))
          << bits << " lane " << lane << " element " << e;
    }
  }
}

TEST(Lds, TransposedReads) {
  for (const u32 bits : {16u, 8u, 6u, 4u}) check_transposed_read(bits);
}

TEST(Lds, ByLaneNumber) {
  Fixture f;
  f.m.s(m0_register) = 64;
  f.m.run("ds_write_addtid_b32 v8 offset:16");
  f.m.run("ds_read_addtid_b32 v9 offset:16");
  f.m.run("s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(std::memcmp(f.m.v(9), f.m.v(8), sizeof(Row)), 0);
  EXPECT_EQ(std::memcmp(f.m.lds().data.get() + 80, f.m.v(8), sizeof(Row)), 0);
  f.m.s(m0_register) = 128 << 16;
  f.m.lds().data[128] = 7;
  std::memset(f.m.lds().data.get() + 129, 0, 3);
  f.m.wave().set_exec(0x7f);
  f.m.run("ds_append v9");
  f.m.run("s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(f.m.v(9)[3], 7u);
  f.m.wave().set_exec(3);
  f.m.run("ds_consume v9");
  f.m.run("s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(f.m.v(9)[0], 14u);
  EXPECT_EQ(f.m.lds().data[128], 12);
}

// Lane i's data lands at M0 + offset + size * i; nothing is written for inactive lanes.
TEST(Memory, ToLds) {
  for (const auto& [name, bytes, target] : {std::tuple{"global_load_lds_dword", 4u, Target::gfx942},
                                            {"global_load_lds_ubyte", 1u, Target::gfx942},
                                            {"global_load_lds_sbyte", 1u, Target::gfx942},
                                            {"global_load_lds_ushort", 2u, Target::gfx942},
                                            {"global_load_lds_sshort", 2u, Target::gfx942},
                                            {"global_load_lds_dwordx3", 12u, Target::gfx950},
                                            {"global_load_lds_dwordx4", 16u, Target::gfx950}}) {
    Fixture f(target);
    f.m.s(m0_register) = 32;
    f.m.run("s_nop 0");
    f.m.wave().set_exec(~u64{4});
    f.m.run(std::string(name) + " v2, s[4:5] offset:8");
    f.m.run("s_waitcnt vmcnt(0)");
    const bool is_signed = std::string(name).find("_s") != std::string::npos && bytes < 4 &&
                           std::string(name).find("_lds_s") != std::string::npos;
    for (u32 lane = 0; lane < 64; ++lane) {
      const u8* at = f.m.lds().data.get() + 40 + std::max(bytes, 4u) * lane;
      for (u32 k = 0; k < (bytes + 3) / 4; ++k) {
        u32 got = 0;
        std::memcpy(&got, at + 4 * k, 4);
        const u32 expected =
            lane == 2 ? 0xffffffff : loaded({bytes, is_signed, 0}, f.place(lane, 8), k, 0);
        ASSERT_EQ(got, expected) << name << " lane " << lane;
      }
    }
  }
  Fixture f;
  f.m.s(m0_register) = 0;
  f.m.s(6) = 100;
  f.m.s(7) = 0x20000;
  f.m.run("s_nop 0");
  f.m.run("buffer_load_dword v2, s[4:7], 0 offen lds");
  f.m.run("s_waitcnt vmcnt(0)");
  u32 got = 1;
  std::memcpy(&got, f.m.lds().data.get(), 4);
  EXPECT_EQ(got, 0u);  // lane 0 reads beyond the range
}

}  // namespace
}  // namespace instinct
