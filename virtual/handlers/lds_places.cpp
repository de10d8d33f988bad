// LDS: bounds, races, and DMA into it.
#include "virtual/handlers/lds_dma.h"
#include "virtual/handlers/memory.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

struct Epoch {
  u16 base, mine;
};

Epoch epoch_of(const Wave& w) {
  const u16 base = static_cast<u16>(w.group->lds.epoch * 32);
  return {base, static_cast<u16>(base + w.index)};
}

// The records of an access as a vector: a compiler's, for every level.
template <u32 byte_count>
struct Records {
  using Vector [[gnu::vector_size(2 * byte_count)]] = u16;

  static Vector load(const u16* from) {
    Vector v;
    std::memcpy(&v, from, sizeof(v));
    return v;
  }
  static void store(u16* to, Vector v) { std::memcpy(to, &v, sizeof(v)); }
  static bool any(Vector v) {
    if constexpr (byte_count <= 4) {
      u64 word = 0;
      std::memcpy(&word, &v, sizeof(v));
      return word != 0;
    } else {
      u64 words[byte_count / 4], all = 0;
      std::memcpy(words, &v, sizeof(v));
      for (const u64 word : words) all |= word;
      return all != 0;
    }
  }
  // Records of other waves in this epoch: all ones there.
  static Vector others(Vector record, Epoch e) {
    const Vector since = record - e.base;
    return static_cast<Vector>((since < 32) & (record != e.mine));
  }
};

// Whom the access at `at` meets, to report it: the first byte in conflict.
[[noreturn]] void report_conflict(Wave& w, const Instruction& in, u32 lane, u32 at, u32 bytes) {
  const Epoch e = epoch_of(w);
  const Lds& lds = w.group->lds;
  const auto other = [&](u16 record) {
    return static_cast<u16>(record - e.base) < 32 && record != e.mine;
  };
  for (u32 i = at; i < at + bytes; ++i) {
    const u16 writer = lds.writer[i], reader = lds.reader[i];
    if (writer == Lds::dma_under_way) {
      w.group->fail_race(w, in, lane, i, Workgroup::Conflict::under_way, 0);
    }
    if (other(writer)) {
      w.group->fail_race(w, in, lane, i, Workgroup::Conflict::written,
                         static_cast<u32>(writer - e.base));
    }
    if (in.opcode->flags & (is_store | writes_lds) && other(reader)) {
      w.group->fail_race(w, in, lane, i, Workgroup::Conflict::read,
                         static_cast<u32>(reader - e.base));
    }
  }
  w.group->fail_race(w, in, lane, at, Workgroup::Conflict::read, Lds::several_waves);
}

// A read meets another wave's write of this epoch, or a DMA. Notes the wave as reader.
template <u32 byte_count>
bool note_read(Lds& lds, Epoch e, u32 at) {
  using R = Records<byte_count>;
  using Vector = typename R::Vector;
  const Vector writer = R::load(lds.writer.get() + at), reader = R::load(lds.reader.get() + at);
  const Vector conflict = R::others(writer, e) | static_cast<Vector>(writer == Lds::dma_under_way);
  if (R::any(conflict)) return false;
  const Vector shared = R::others(reader, e);
  const u16 several = static_cast<u16>(e.base + Lds::several_waves);
  R::store(lds.reader.get() + at, (shared & several) | (~shared & e.mine));
  return true;
}

// A write also meets reads.
template <u32 byte_count>
bool note_write(Lds& lds, Epoch e, u32 at) {
  using R = Records<byte_count>;
  using Vector = typename R::Vector;
  const Vector writer = R::load(lds.writer.get() + at), reader = R::load(lds.reader.get() + at);
  const Vector conflict = R::others(writer, e) | R::others(reader, e) |
                          static_cast<Vector>(writer == Lds::dma_under_way);
  if (R::any(conflict)) return false;
  R::store(lds.writer.get() + at, Vector{} + e.mine);
  return true;
}

// Atomics may meet each other: they count as reads, which exclude plain writes.
template <u32 byte_count>
void check_lanes(Wave& w, const Instruction& in, const u32* address, u64 mask, bool writes,
                 u32 offset = 0) {
  Lds& lds = w.group->lds;
  const Epoch e = epoch_of(w);
  if (writes) {
    for_lanes(mask, [&](u32 lane) {
      const u32 at = address[lane] + offset;
      if (!note_write<byte_count>(lds, e, at)) report_conflict(w, in, lane, at, byte_count);
    });
  } else {
    for_lanes(mask, [&](u32 lane) {
      const u32 at = address[lane] + offset;
      if (!note_read<byte_count>(lds, e, at)) report_conflict(w, in, lane, at, byte_count);
    });
  }
}

void check_races(Wave& w, const Instruction& in, const u32* address, u64 mask, u32 bytes,
                 Access access) {
  const bool writes = access == Access::store;
  switch (bytes) {
    case 1: return check_lanes<1>(w, in, address, mask, writes);
    case 2: return check_lanes<2>(w, in, address, mask, writes);
    case 4: return check_lanes<4>(w, in, address, mask, writes);
    case 8: return check_lanes<8>(w, in, address, mask, writes);
    case 12:
      check_lanes<8>(w, in, address, mask, writes);
      return check_lanes<4>(w, in, address, mask, writes, 8);
    default: return check_lanes<16>(w, in, address, mask, writes);
  }
}

}  // namespace

void place_lds(Wave& w, const Instruction& in, const u32* address, u64 mask, u32 bytes,
               Access access, Places& places) {
  places.mask = mask;
  Lds& lds = w.group->lds;
  u64 outside = 0;
  const u32 limit = lds.size >= bytes ? lds.size - bytes : 0;
  for (u32 i = 0; i < 64; ++i) outside |= u64{address[i] > limit} << i;
  if (lds.size < bytes) outside = ~u64{0};
  outside &= mask;
  if (outside) {
    const u32 lane = static_cast<u32>(__builtin_ctzll(outside));
    w.group->fail_lds(w, in, lane, address[lane], bytes);
  }
  u8 *data = lds.data.get(), *undefined = lds.undefined.get();
  for_lanes(mask, [&](u32 lane) {
    places.data[lane] = data + address[lane];
    places.shadow[lane] = undefined + address[lane];
  });
  places.shadowed |= mask != 0;
  if (lds.races) check_races(w, in, address, mask, bytes, access);
  if (w.group->trace) {
    w.group->access_cycles +=
        lds_cycles(w.group->state.target, address, mask, bytes, access != Access::load);
  }
}

void copy_to_lds(Wave& w, const Instruction& in, const Places& places, u32 bytes) {
  Lds& lds = w.group->lds;
  use_address(w, in, Operand{.kind = Operand::Kind::scalar, .count = 1, .first = m0_register}, 1);
  const u32 stride = bytes < 4 ? 4 : bytes;
  const u32 base = (w.scalar[m0_register] & 0x3ffff) + static_cast<u32>(in.offset);
  const bool is_signed = in.opcode->name.find("_s") != std::string_view::npos && bytes < 4;
  u32 address[64];
  for (u32 lane = 0; lane < 64; ++lane) address[lane] = base + lane * stride;
  Places to;
  place_lds(w, in, address, places.mask, stride, Access::store, to);
  for_lanes(places.mask, [&](u32 lane) {
    u8 value[16] = {}, undefined[16] = {};
    std::memcpy(value, places.data[lane], bytes);
    if (is_signed && value[bytes - 1] >> 7) std::memset(value + bytes, 0xff, 4 - bytes);
    std::memcpy(to.data[lane], value, stride);
    if (!w.track) return;
    if (const u8* shadow = places.shadow[lane]) {
      for (u32 i = 0; i < bytes; ++i)
        undefined[i] = shadow[i] ^ (places.inverted >> lane & 1 ? 0xff : 0);
    }
    std::memcpy(to.shadow[lane], undefined, stride);
  });
  InFlight entry{.kind = InFlight::Kind::lds_dma, .instruction = &in};
  if (w.group->state.checks.waits && places.mask) {
    entry.lds_record[0] = lds.new_record();
    Lds::Record& record = lds.records[entry.lds_record[0]];
    record = {places.mask, stride, {}};
    std::memcpy(record.address, address, sizeof(address));
    for_lanes(places.mask, [&](u32 lane) {
      for (u32 i = 0; i < stride; ++i) lds.writer[address[lane] + i] = Lds::dma_under_way;
    });
  }
  push_vm(w, entry);
}

}  // namespace instinct::INSTINCT_LEVEL
