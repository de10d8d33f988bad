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

// Whether another wave wrote one of the bytes in this epoch, or a DMA is under way to it; notes the
// wave as reader.
template <u32 kBytes>
bool read_conflicts(Lds& lds, Epoch e, u32 at) {
  u16* writer = lds.writer.get() + at;
  u16* reader = lds.reader.get() + at;
  u16 conflict = 0;
#pragma GCC ivdep
  for (u32 i = 0; i < kBytes; ++i) {
    const u16 by = writer[i];
    const bool other = static_cast<u16>(by - e.base) < 32 && by != e.mine;
    conflict |= static_cast<u16>(other || by == Lds::kUnderWay);
    const u16 seen = reader[i];
    const bool shared = static_cast<u16>(seen - e.base) < 32 && seen != e.mine;
    reader[i] = shared ? static_cast<u16>(e.base + Lds::kSeveral) : e.mine;
  }
  return conflict;
}

template <u32 kBytes>
bool write_conflicts(Lds& lds, Epoch e, u32 at) {
  u16* writer = lds.writer.get() + at;
  const u16* reader = lds.reader.get() + at;
  u16 conflict = 0;
#pragma GCC ivdep
  for (u32 i = 0; i < kBytes; ++i) {
    const u16 by = writer[i], seen = reader[i];
    const bool written = static_cast<u16>(by - e.base) < 32 && by != e.mine;
    const bool read = static_cast<u16>(seen - e.base) < 32 && seen != e.mine;
    conflict |= static_cast<u16>(written || read || by == Lds::kUnderWay);
    writer[i] = e.mine;
  }
  return conflict;
}

// Finds the byte of a conflict, to report it.
void report_conflict(Wave& w, const Instruction& in, u32 lane, u32 at, u32 bytes, Access access,
                     const u16* writer, const u16* reader) {
  const Epoch e = epoch_of(w);
  for (u32 i = 0; i < bytes; ++i) {
    const auto other = [&](u16 record) {
      return static_cast<u16>(record - e.base) < 32 && record != e.mine;
    };
    if (writer[i] == Lds::kUnderWay) {
      w.group->fail_race(w, in, lane, at + i, Workgroup::Conflict::under_way, 0);
    }
    if (other(writer[i])) {
      w.group->fail_race(w, in, lane, at + i, Workgroup::Conflict::written,
                         static_cast<u32>(writer[i] - e.base));
    }
    if (access != Access::load && other(reader[i])) {
      w.group->fail_race(w, in, lane, at + i, Workgroup::Conflict::read,
                         static_cast<u32>(reader[i] - e.base));
    }
  }
}

template <u32 kBytes>
void check_lane(Wave& w, const Instruction& in, u32 lane, u32 at, Access access) {
  Lds& lds = w.group->lds;
  const Epoch e = epoch_of(w);
  u16 writer[kBytes], reader[kBytes];
  std::memcpy(writer, lds.writer.get() + at, sizeof(writer));
  std::memcpy(reader, lds.reader.get() + at, sizeof(reader));
  // Atomics may meet each other: they count as reads that exclude plain writes.
  const bool conflict = access == Access::store ? write_conflicts<kBytes>(lds, e, at)
                                                : read_conflicts<kBytes>(lds, e, at);
  if (conflict) report_conflict(w, in, lane, at, kBytes, access, writer, reader);
}

template <u32 kBytes>
void check_lanes(Wave& w, const Instruction& in, const u32* address, u64 mask, Access access) {
  Lds& lds = w.group->lds;
  const Epoch e = epoch_of(w);
  bool conflict = false;
  // First without looking who: conflicts are rare.
  for_lanes(mask, [&](u32 lane) {
    const u16* writer = lds.writer.get() + address[lane];
    const u16* reader = lds.reader.get() + address[lane];
    u16 any = 0;
    for (u32 i = 0; i < kBytes; ++i) {
      const u16 by = writer[i], seen = reader[i];
      any |= static_cast<u16>((static_cast<u16>(by - e.base) < 32 && by != e.mine) ||
                              by == Lds::kUnderWay);
      if (access == Access::store) {
        any |= static_cast<u16>(static_cast<u16>(seen - e.base) < 32 && seen != e.mine);
      }
    }
    conflict |= any != 0;
  });
  if (conflict) {
    for_lanes(mask, [&](u32 lane) { check_lane<kBytes>(w, in, lane, address[lane], access); });
  }
  for_lanes(mask, [&](u32 lane) {
    if (access == Access::store) write_conflicts<kBytes>(lds, e, address[lane]);
    else read_conflicts<kBytes>(lds, e, address[lane]);
  });
}

void check_races(Wave& w, const Instruction& in, const u32* address, u64 mask, u32 bytes,
                 Access access) {
  switch (bytes) {
    case 1: return check_lanes<1>(w, in, address, mask, access);
    case 2: return check_lanes<2>(w, in, address, mask, access);
    case 4: return check_lanes<4>(w, in, address, mask, access);
    case 8: return check_lanes<8>(w, in, address, mask, access);
    case 12: return check_lanes<12>(w, in, address, mask, access);
    default: return check_lanes<16>(w, in, address, mask, access);
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
}

void copy_to_lds(Wave& w, const Instruction& in, const Places& places, u32 bytes) {
  Lds& lds = w.group->lds;
  use_address(w, in, Operand{.kind = Operand::Kind::scalar, .count = 1, .first = kM0}, 1);
  const u32 stride = bytes < 4 ? 4 : bytes;
  const u32 base = (w.scalar[kM0] & 0x3ffff) + static_cast<u32>(in.offset);
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
      for (u32 i = 0; i < bytes; ++i) undefined[i] = shadow[i] ^ (places.inverted >> lane & 1 ? 0xff : 0);
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
      for (u32 i = 0; i < stride; ++i) lds.writer[address[lane] + i] = Lds::kUnderWay;
    });
  }
  push_vm(w, entry);
}

}  // namespace instinct::INSTINCT_LEVEL
