// buffer_* loads and stores: an address by descriptor, and a range that clips ("CDNA3 ISA",
// "Buffer addressing" and "Range checking").
#include "virtual/handlers/buffer.h"
#include "virtual/handlers/define.h"
#include "virtual/handlers/lds_dma.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

struct Descriptor {
  u64 base;
  u32 stride;
  u32 records;
};

Descriptor read_descriptor(Wave& w, const Instruction& in, const Operand& rsrc) {
  use_address(w, in, rsrc, 4);
  const u32* word = w.scalar + rsrc.first;
  if (word[1] >> 31) unsupported(w, in, "swizzled buffer");
  if (word[3] >> 23 & 1) unsupported(w, in, "buffer with the lane number in its address");
  return {word[0] | u64{word[1] & 0xffff} << 32, word[1] >> 16 & 0x3fff, word[2]};
}

}  // namespace

void buffer_addresses(Wave& w, const Instruction& in, u32 vaddr, u32 bytes, BufferPlaces& b) {
  const Descriptor d = read_descriptor(w, in, in.operand[vaddr + 1]);
  const Operand& soffset = in.operand[vaddr + 2];
  use_address(w, in, soffset, 1);
  const u64 scalar = read_scalar(w, soffset);
  const Operand& v = in.operand[vaddr];
  const u32 words = (in.offen ? 1 : 0) + (in.idxen ? 1 : 0);
  if (words) use_address(w, in, v, words);
  const u32* index = in.idxen ? row(w, v.first) : zero_rows[0].lane;
  const u32* voffset = in.offen ? row(w, v.first + words - 1) : zero_rows[0].lane;
  const u64 immediate = static_cast<u64>(in.offset);
  const bool structured = d.stride != 0 && in.idxen;
  const u64 range = structured ? d.records : d.records > scalar ? d.records - scalar : 0;
  const u32 step = bytes < 4 ? bytes : 4;
  b.mask = w.exec();
  b.whole = 0;
  for (u32 lane = 0; lane < 64; ++lane) {
    const u64 offset = immediate + voffset[lane];
    b.address[lane] = d.base + scalar + offset + u64{index[lane]} * d.stride;
    u32 inside;
    if (structured) {
      inside = index[lane] < range ? bytes : 0;
    } else {
      // Each word is checked by itself.
      inside = 0;
      const u64 at = offset + u64{index[lane]} * d.stride;
      while (inside < bytes && at + inside + step <= range) inside += step;
    }
    b.inside[lane] = static_cast<u8>(inside);
    b.whole |= u64{inside == bytes} << lane;
  }
}

namespace {

constexpr u8 nothing[16] = {};

// Lanes that are partly or wholly outside get a copy, with zero where they are.
void place_buffer_load(Wave& w, const Instruction& in, const BufferPlaces& b, u32 bytes,
                       Places& places, u8 (*bounce)[16]) {
  const u64 whole = b.whole & b.mask;
  place_global(w, in, b.address, whole, bytes, Access::load, places);
  if (whole != b.mask) places.sparse = true;
  for_lanes(b.mask & ~whole, [&](u32 lane) {
    places.shadow[lane] = nullptr;
    places.data[lane] = bounce[lane];
    std::memcpy(bounce[lane], nothing, 16);
    if (!b.inside[lane]) return;
    Places part;
    place_global(w, in, b.address, u64{1} << lane, b.inside[lane], Access::load, part);
    std::memcpy(bounce[lane], part.data[lane], b.inside[lane]);
  });
  places.mask = b.mask;
}

void count_access(Wave& w, const Instruction& in, InFlight entry) {
  entry.instruction = &in;
  push_vm(w, entry);
}

template <class S>
void run_load(Wave& w, const Instruction& in) {
  BufferPlaces b;
  Places places;
  u8 bounce[64][16];
  buffer_addresses(w, in, in.lds ? 0 : 1, S::bytes, b);
  place_buffer_load(w, in, b, S::bytes, places, bounce);
  if (in.lds) return copy_to_lds(w, in, places, S::bytes);
  const u32 first = in.dst().first;
  load_lanes<S>(w, first, places);
  count_access(
      w, in, {.kind = InFlight::Kind::vector_load, .vectors = {static_cast<u16>(first), S::words}});
}

template <class S>
void run_store(Wave& w, const Instruction& in) {
  BufferPlaces b;
  Places places;
  buffer_addresses(w, in, 1, S::bytes, b);
  const Operand& data = in.operand[0];
  const u64 whole = b.whole & b.mask;
  place_global(w, in, b.address, whole, S::bytes, Access::store, places);
  use_data(w, in, data, S::words, S::stored_bits(), places);
  store_lanes<S>(w, data.first, places);
  // Words of lanes that lie partly inside.
  if constexpr (S::words > 1) {
    for_lanes(b.mask & ~whole, [&](u32 lane) {
      for (u32 at = 0; at < b.inside[lane]; at += 4) {
        Places part;
        u64 address[64] = {};
        address[lane] = b.address[lane] + at;
        place_global(w, in, address, u64{1} << lane, 4, Access::store, part);
        store_lanes<Shape<4>>(w, data.first + at / 4, part);
      }
    });
  }
  count_access(w, in, {.kind = InFlight::Kind::store});
}

template <class S>
void add_load(std::string_view name, u16 flags = 0) {
  register_opcode(handler_op(name, &run_load<S>, Unit::vector_memory, 1, flags));
}
template <class S>
void add_store(std::string_view name) {
  register_opcode(handler_op(name, &run_store<S>, Unit::vector_memory, 0, is_store));
}

}  // namespace

void register_buffer_memory() {
  add_load<Shape<4>>("buffer_load_dword");
  add_load<Shape<8>>("buffer_load_dwordx2");
  add_load<Shape<12>>("buffer_load_dwordx3");
  add_load<Shape<16>>("buffer_load_dwordx4");
  add_load<Shape<1>>("buffer_load_ubyte");
  add_load<Shape<1, true>>("buffer_load_sbyte");
  add_load<Shape<2>>("buffer_load_ushort");
  add_load<Shape<2, true>>("buffer_load_sshort");
  add_load<Shape<1, false, 1>>("buffer_load_ubyte_d16", reads_dst);
  add_load<Shape<1, false, 2>>("buffer_load_ubyte_d16_hi", reads_dst);
  add_load<Shape<1, true, 1>>("buffer_load_sbyte_d16", reads_dst);
  add_load<Shape<1, true, 2>>("buffer_load_sbyte_d16_hi", reads_dst);
  add_load<Shape<2, false, 1>>("buffer_load_short_d16", reads_dst);
  add_load<Shape<2, false, 2>>("buffer_load_short_d16_hi", reads_dst);
  add_store<Shape<4>>("buffer_store_dword");
  add_store<Shape<8>>("buffer_store_dwordx2");
  add_store<Shape<12>>("buffer_store_dwordx3");
  add_store<Shape<16>>("buffer_store_dwordx4");
  add_store<Shape<1>>("buffer_store_byte");
  add_store<Shape<2>>("buffer_store_short");
  add_store<Shape<1, false, 2>>("buffer_store_byte_d16_hi");
  add_store<Shape<2, false, 2>>("buffer_store_short_d16_hi");
}

}  // namespace instinct::INSTINCT_LEVEL
