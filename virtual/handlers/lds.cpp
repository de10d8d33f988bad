// LDS loads and stores ("CDNA3 ISA", "Data share"; "CDNA4 ISA" for the transposed reads).
#include "virtual/handlers/define.h"
#include "virtual/handlers/memory.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

constexpr u8 gfx950_bit = 2;

void addresses(Wave& w, const Instruction& in, const Operand& operand, u32 offset, u32* address) {
  use_address(w, in, operand, 1);
  const u32* v = row(w, operand.first);
  for (u32 i = 0; i < 64; ++i) address[i] = v[i] + offset;
}

// `address`, `second`: what is accessed, if it is to be known at a barrier.
void count_access(Wave& w, const Instruction& in, Span registers, const u32* address, u32 bytes,
                  const u32* second = nullptr) {
  InFlight entry{.kind = InFlight::Kind::lds, .vectors = registers, .instruction = &in};
  Lds& lds = w.group->lds;
  const u32* all[2] = {address, second};
  for (u32 k = 0; k < 2 && lds.races; ++k) {
    if (!all[k]) continue;
    entry.lds_record[k] = lds.new_record();
    Lds::Record& record = lds.records[entry.lds_record[k]];
    record.exec = w.exec();
    record.bytes = bytes;
    std::memcpy(record.address, all[k], sizeof(record.address));
  }
  push_lgkm(w, entry);
}

template <class S>
void run_read(Wave& w, const Instruction& in) {
  if (in.gds) unsupported(w, in, "GDS");
  alignas(64) u32 address[64];
  addresses(w, in, in.src(0), static_cast<u32>(in.offset), address);
  Places places;
  place_lds(w, in, address, w.exec(), S::bytes, Access::load, places);
  const u32 first = in.dst().first;
  load_lanes<S>(w, first, places);
  count_access(w, in, {static_cast<u16>(first), S::words}, address, S::bytes);
}

// Two at offsets in units of their size, or of 64 times that.
template <u32 byte_count, u32 scale>
void run_read2(Wave& w, const Instruction& in) {
  using S = Shape<byte_count>;
  const u32 offsets[2] = {in.offset0, in.offset1};
  const u32 first = in.dst().first;
  Places places[2];
  alignas(64) u32 address[2][64];
  // Both addresses before the results: the address register may be one of them.
  for (u32 k = 0; k < 2; ++k) {
    addresses(w, in, in.src(0), offsets[k] * byte_count * scale, address[k]);
    place_lds(w, in, address[k], w.exec(), byte_count, Access::load, places[k]);
  }
  for (u32 k = 0; k < 2; ++k) load_lanes<S>(w, first + k * S::words, places[k]);
  count_access(w, in, {static_cast<u16>(first), 2 * S::words}, address[0], byte_count, address[1]);
}

// Two lanes that stored different values to one place: which one is there is not known.
template <class S>
void check_same_instruction(Wave& w, const Instruction& in, u32 first, const Places& places) {
  const u32* s = row(w, first);
  for_lanes(places.mask, [&](u32 lane) {
    u8 mine[16];
    S::store(s, lane, mine);
    if (std::memcmp(mine, places.data[lane], S::bytes) != 0) {
      const u32 at = static_cast<u32>(places.data[lane] - w.group->lds.data.get());
      w.group->fail_race(w, in, lane, at, Workgroup::Conflict::same_instruction, w.index);
    }
  });
}

template <class S>
void run_write(Wave& w, const Instruction& in) {
  if (in.gds) unsupported(w, in, "GDS");
  alignas(64) u32 address[64];
  addresses(w, in, in.operand[0], static_cast<u32>(in.offset), address);
  Places places;
  place_lds(w, in, address, w.exec(), S::bytes, Access::store, places);
  const u32 first = in.operand[1].first;
  store_lanes<S>(w, first, places);
  if (w.group->lds.races) check_same_instruction<S>(w, in, first, places);
  count_access(w, in, {}, address, S::bytes);
}

template <u32 byte_count, u32 scale>
void run_write2(Wave& w, const Instruction& in) {
  using S = Shape<byte_count>;
  const u32 offsets[2] = {in.offset0, in.offset1};
  alignas(64) u32 address[2][64];
  for (u32 k = 0; k < 2; ++k) {
    Places places;
    addresses(w, in, in.operand[0], offsets[k] * byte_count * scale, address[k]);
    place_lds(w, in, address[k], w.exec(), byte_count, Access::store, places);
    store_lanes<S>(w, in.operand[1 + k].first, places);
    if (w.group->lds.races) check_same_instruction<S>(w, in, in.operand[1 + k].first, places);
  }
  count_access(w, in, {}, address[0], byte_count, address[1]);
}

// Bits of the lanes of `rows` from `bit` on: `count` of them, that may lie across two rows.
u32 bits_at(const Row* rows, u32 lane, u32 bit, u32 count) {
  u64 pair = rows[bit / 32].lane[lane];
  if (bit % 32 + count > 32) pair |= u64{rows[bit / 32 + 1].lane[lane]} << 32;
  return static_cast<u32>(pair >> bit % 32) & ((1u << count) - 1);
}
void place_bits(Row* rows, u32 lane, u32 bit, u32 count, u32 value) {
  const u64 placed = u64{value} << bit % 32;
  rows[bit / 32].lane[lane] |= static_cast<u32>(placed);
  if (bit % 32 + count > 32) rows[bit / 32 + 1].lane[lane] |= static_cast<u32>(placed >> 32);
}

// n elements for each lane; 16 lanes hold a matrix of n x 16 that is transposed: lane i gets column
// i. Element e of lane i is element i % n of lane (i / n) + (16 / n) e.
template <u32 element_bits, u32 word_count>
void transpose(const Row* from, Row* to) {
  constexpr u32 n = 32 * word_count / element_bits;
  for (u32 lane = 0; lane < 64; ++lane) {
    const u32 i = lane & 15, base = lane & ~15u;
    for (u32 e = 0; e < n; ++e) {
      const u32 source = base + i / n + 16 / n * e;
      const u32 element = bits_at(from, source, i % n * element_bits, element_bits);
      place_bits(to, lane, e * element_bits, element_bits, element);
    }
  }
}

// "CDNA4 ISA", DS_READ_B64_TR_B16, _B8 and _B4, DS_READ_B96_TR_B6.
template <u32 element_bits>
void run_read_transposed(Wave& w, const Instruction& in) {
  constexpr u32 words = element_bits == 6 ? 3 : 2;
  using S = Shape<4 * words>;
  alignas(64) u32 address[64];
  addresses(w, in, in.src(0), static_cast<u32>(in.offset), address);
  Places places;
  place_lds(w, in, address, w.exec(), S::bytes, Access::load, places);
  Row raw[words] = {}, raw_undefined[words] = {}, result[words] = {}, undefined[words] = {};
  for_lanes(places.mask, [&](u32 lane) {
    S::load(raw[0].lane, lane, places.data[lane]);
    S::load(raw_undefined[0].lane, lane, places.shadow[lane]);
  });
  transpose<element_bits, words>(raw, result);
  transpose<element_bits, words>(raw_undefined, undefined);
  const u32 first = in.dst().first;
  for (u32 k = 0; k < words; ++k) blend(row(w, first + k), result[k].lane, w.exec());
  if (w.track) set_undefined(w, first, words, w.exec(), undefined[0].lane);
  count_access(w, in, {static_cast<u16>(first), words}, address, S::bytes);
}

// Lanes exchange words through the LDS crossbar, without LDS. Addresses are lane * 4.
template <bool backward>
void run_permute(Wave& w, const Instruction& in) {
  const u32 first = in.dst().first;
  use_address(w, in, in.src(0), 1);
  const u32* address = row(w, in.src(0).first);
  const u32* data = row(w, in.src(1).first);
  const bool dirty = w.track && w.dirty.test(in.src(1).first);
  const u32* bits = dirty ? undefined_row(w, in.src(1).first) : zero_rows[0].lane;
  const u32 offset = static_cast<u32>(in.offset);
  const u64 exec = w.exec();
  Row result, undefined;
  std::memset(result.lane, 0, sizeof(Row));
  std::memset(undefined.lane, 0, sizeof(Row));
  if (backward) {
    for (u32 lane = 0; lane < 64; ++lane) {
      const u32 from = (address[lane] + offset) >> 2 & 63;
      result.lane[lane] = exec >> from & 1 ? data[from] : 0;
      undefined.lane[lane] = exec >> from & 1 ? bits[from] : 0;
    }
  } else {
    for_lanes(exec, [&](u32 lane) {
      const u32 to = (address[lane] + offset) >> 2 & 63;
      result.lane[to] = data[lane];
      undefined.lane[to] = bits[lane];
    });
  }
  blend(row(w, first), result.lane, exec);
  if (w.track) set_undefined(w, first, 1, exec, dirty ? undefined.lane : nullptr);
  w.group->access_cycles = 2;  // half of the lanes in each
  count_access(w, in, {static_cast<u16>(first), 1}, nullptr, 0);
}

// "CDNA3 ISA", DS_SWIZZLE_B32: bit 15 chooses quads; else and/or/xor masks within 32 lanes.
u32 swizzle_source(u32 control, u32 lane) {
  if (control & 0x8000) return (lane & ~3u) | (control >> 2 * (lane & 3) & 3);
  const u32 in_half = ((lane & control & 31) | (control >> 5 & 31)) ^ (control >> 10 & 31);
  return (lane & 32) | in_half;
}

void run_swizzle(Wave& w, const Instruction& in) {
  const u32 first = in.dst().first, source = in.src(0).first;
  const u64 exec = w.exec();
  const bool dirty = w.track && w.dirty.test(source);
  Row result, undefined;
  for (u32 lane = 0; lane < 64; ++lane) {
    const u32 from = swizzle_source(static_cast<u32>(in.offset) & 0xffff, lane);
    const bool on = exec >> from & 1;
    result.lane[lane] = on ? row(w, source)[from] : 0;
    undefined.lane[lane] = on && dirty ? undefined_row(w, source)[from] : 0;
  }
  blend(row(w, first), result.lane, exec);
  if (w.track) set_undefined(w, first, 1, exec, dirty ? undefined.lane : nullptr);
  w.group->access_cycles = 2;  // half of the lanes in each
  count_access(w, in, {static_cast<u16>(first), 1}, nullptr, 0);
}

template <class S>
void add_read(std::string_view name, u16 flags = 0) {
  register_opcode(handler_op(name, &run_read<S>, Unit::lds, 1, flags));
}
template <class S>
void add_write(std::string_view name) {
  register_opcode(handler_op(name, &run_write<S>, Unit::lds, 0, is_store));
}

}  // namespace

void register_lds() {
  add_read<Shape<4>>("ds_read_b32");
  add_read<Shape<8>>("ds_read_b64");
  add_read<Shape<12>>("ds_read_b96");
  add_read<Shape<16>>("ds_read_b128");
  add_read<Shape<1>>("ds_read_u8");
  add_read<Shape<1, true>>("ds_read_i8");
  add_read<Shape<2>>("ds_read_u16");
  add_read<Shape<2, true>>("ds_read_i16");
  add_read<Shape<1, false, 1>>("ds_read_u8_d16", reads_dst);
  add_read<Shape<1, false, 2>>("ds_read_u8_d16_hi", reads_dst);
  add_read<Shape<1, true, 1>>("ds_read_i8_d16", reads_dst);
  add_read<Shape<1, true, 2>>("ds_read_i8_d16_hi", reads_dst);
  add_read<Shape<2, false, 1>>("ds_read_u16_d16", reads_dst);
  add_read<Shape<2, false, 2>>("ds_read_u16_d16_hi", reads_dst);
  add_write<Shape<4>>("ds_write_b32");
  add_write<Shape<8>>("ds_write_b64");
  add_write<Shape<12>>("ds_write_b96");
  add_write<Shape<16>>("ds_write_b128");
  add_write<Shape<1>>("ds_write_b8");
  add_write<Shape<2>>("ds_write_b16");
  add_write<Shape<1, false, 2>>("ds_write_b8_d16_hi");
  add_write<Shape<2, false, 2>>("ds_write_b16_d16_hi");
  const auto add = [](std::string_view name, Handler handler, u8 destinations, u16 flags = 0,
                      u8 targets = 3) {
    Opcode opcode = handler_op(name, handler, Unit::lds, destinations, flags);
    opcode.targets = targets;
    register_opcode(opcode);
  };
  add("ds_read2_b32", &run_read2<4, 1>, 1);
  add("ds_read2_b64", &run_read2<8, 1>, 1);
  add("ds_read2st64_b32", &run_read2<4, 64>, 1);
  add("ds_read2st64_b64", &run_read2<8, 64>, 1);
  add("ds_write2_b32", &run_write2<4, 1>, 0, is_store);
  add("ds_write2_b64", &run_write2<8, 1>, 0, is_store);
  add("ds_write2st64_b32", &run_write2<4, 64>, 0, is_store);
  add("ds_write2st64_b64", &run_write2<8, 64>, 0, is_store);
  add("ds_read_b64_tr_b16", &run_read_transposed<16>, 1, 0, gfx950_bit);
  add("ds_read_b64_tr_b8", &run_read_transposed<8>, 1, 0, gfx950_bit);
  add("ds_read_b64_tr_b4", &run_read_transposed<4>, 1, 0, gfx950_bit);
  add("ds_read_b96_tr_b6", &run_read_transposed<6>, 1, 0, gfx950_bit);
  add("ds_bpermute_b32", &run_permute<true>, 1);
  add("ds_permute_b32", &run_permute<false>, 1);
  add("ds_swizzle_b32", &run_swizzle, 1);
}

}  // namespace instinct::INSTINCT_LEVEL
