#include "virtual/handlers/memory.h"

#include <algorithm>

namespace instinct::INSTINCT_LEVEL {
namespace {

// Lowest and highest address of the active lanes.
struct Range {
  u64 low, high;
};
Range range_of(const u64* address, u64 mask) {
  Range range{~u64{0}, 0};
  if (mask == ~u64{0}) {
    for (u32 i = 0; i < 64; ++i) {
      range.low = address[i] < range.low ? address[i] : range.low;
      range.high = address[i] > range.high ? address[i] : range.high;
    }
    return range;
  }
  for_lanes(mask, [&](u32 i) {
    range.low = address[i] < range.low ? address[i] : range.low;
    range.high = address[i] > range.high ? address[i] : range.high;
  });
  return range;
}

u8* pointer(u64 address) { return reinterpret_cast<u8*>(address); }

void place_in(const Allocation& allocation, const u64* address, u64 mask, Places& places) {
  for (u32 lane = 0; lane < 64; ++lane) places.data[lane] = pointer(address[lane]);
  if (!allocation.defined) {
    std::ranges::fill(places.shadow, nullptr);
    return;
  }
  const u64 shift = reinterpret_cast<u64>(allocation.defined) - allocation.base;
  for (u32 lane = 0; lane < 64; ++lane) places.shadow[lane] = pointer(address[lane] + shift);
  places.shadowed = true;
  places.inverted |= mask;
}

}  // namespace

void place_global(Wave& w, const Instruction& in, const u64* address, u64 mask, u32 bytes,
                  Access access, Places& places) {
  places.mask = mask;
  if (!mask) return;
  Workgroup& group = *w.group;
  if (group.trace) group.access_cycles += memory_cycles(address, mask, bytes);
  const Range range = range_of(address, mask);
  const Allocation* all = group.find(range.low, range.high - range.low + bytes);
  const bool writes = access != Access::load;
  if (all && (all->writable || !writes)) return place_in(*all, address, mask, places);
  places.sparse = true;
  for_lanes(mask, [&](u32 lane) {
    const Allocation* one = group.find(address[lane], bytes);
    if (group.state.checks.bounds && (!one || (writes && !one->writable))) {
      group.fail_bounds(w, in, lane, address[lane], bytes, writes);
    }
    places.data[lane] = pointer(address[lane]);
    places.shadow[lane] = nullptr;
    if (one && one->defined) {
      places.shadow[lane] = one->defined + (address[lane] - one->base);
      places.shadowed = true;
      places.inverted |= u64{1} << lane;
    }
  });
}

void place_scratch(Wave& w, const Instruction& in, const u32* offset, u64 mask, u32 bytes, Access,
                   Places& places) {
  places.mask = mask;
  Workgroup& group = *w.group;
  const u32 size = group.state.scratch_bytes;
  places.shadowed |= mask != 0;
  for_lanes(mask, [&](u32 lane) {
    if (offset[lane] > size || bytes > size - offset[lane]) {
      group.fail_scratch(w, in, lane, offset[lane], bytes);
    }
    places.data[lane] = group.scratch(w, lane) + offset[lane];
    places.shadow[lane] = group.scratch_undefined(w, lane) + offset[lane];
  });
}

void place_flat(Wave& w, const Instruction& in, const u64* address, u64 mask, u32 bytes,
                Access access, Places& places) {
  u64 lds = 0, scratch = 0;
  u32 offset[64];
  for_lanes(mask, [&](u32 lane) {
    const u32 high = static_cast<u32>(address[lane] >> 32);
    offset[lane] = static_cast<u32>(address[lane]);
    lds |= u64{high == shared_aperture} << lane;
    scratch |= u64{high == private_aperture} << lane;
  });
  const u64 global = mask & ~lds & ~scratch;
  places.sparse = true;
  if (global) place_global(w, in, address, global, bytes, access, places);
  if (lds) place_lds(w, in, offset, lds, bytes, access, places);
  if (scratch) place_scratch(w, in, offset, scratch, bytes, access, places);
  places.mask = mask;
}

void use_address(Wave& w, const Instruction& in, const Operand& operand, u32 words) {
  if (!w.track) return;
  if (operand.is_scalar()) {
    for (u32 k = 0; k < words && operand.first + k < 128; ++k) {
      if (w.scalar_undefined[operand.first + k]) {
        use_scalar(w, in, operand.first + k, w.scalar_undefined[operand.first + k], "an address");
      }
    }
    return;
  }
  if (!operand.is_vector() || !w.dirty.any({operand.first, static_cast<u16>(words)})) return;
  for (u32 k = 0; k < words; ++k) {
    if (!w.dirty.test(operand.first + k)) continue;
    const u64 bad = nonzero_mask(undefined_row(w, operand.first + k)) & w.exec();
    if (bad) use_vector(w, in, operand.first + k, bad, "an address");
  }
}

void use_data(Wave& w, const Instruction& in, const Operand& operand, u32 words, u32 bits,
              const Places& places) {
  if (!w.track || !operand.is_vector()) return;
  if (!w.dirty.any({operand.first, static_cast<u16>(words)})) return;
  for (u32 k = 0; k < words; ++k) {
    if (!w.dirty.test(operand.first + k)) continue;
    const u32* undefined = undefined_row(w, operand.first + k);
    u64 bad = 0;
    for (u32 lane = 0; lane < 64; ++lane) bad |= u64{(undefined[lane] & bits) != 0} << lane;
    // LDS and scratch keep what is undefined; memory does not.
    u64 kept = 0;
    for_lanes(bad & places.mask, [&](u32 lane) {
      const bool has = places.shadow[lane] && !(places.inverted >> lane & 1);
      kept |= u64{has} << lane;
    });
    bad &= places.mask & ~kept;
    if (bad) use_vector(w, in, operand.first + k, bad, "a store");
  }
}

namespace {

// global_*: a 64-bit vector address, or a scalar base and 32 bits of each lane.
void global_addresses(Wave& w, const Instruction& in, const Operand& vaddr, const Operand& saddr,
                      u64* address) {
  const i64 offset = in.offset;
  if (saddr.is_scalar()) {
    use_address(w, in, saddr, 2);
    if (vaddr.is_vector()) use_address(w, in, vaddr, 1);
    const u64 base = w.scalar64(saddr.first) + static_cast<u64>(offset);
    const u32* v = vaddr.is_vector() ? row(w, vaddr.first) : zero_rows[0].lane;
    for (u32 i = 0; i < 64; ++i) address[i] = base + v[i];
    return;
  }
  use_address(w, in, vaddr, 2);
  const u32 *low = row(w, vaddr.first), *high = row(w, vaddr.first + 1);
  for (u32 i = 0; i < 64; ++i) {
    address[i] = (low[i] | u64{high[i]} << 32) + static_cast<u64>(offset);
  }
}

void scratch_offsets(Wave& w, const Instruction& in, const Operand& vaddr, const Operand& saddr,
                     u32* offset) {
  u32 base = static_cast<u32>(in.offset);
  if (saddr.is_scalar()) {
    use_address(w, in, saddr, 1);
    base += w.scalar[saddr.first];
  }
  const u32* v = zero_rows[0].lane;
  if (vaddr.is_vector()) {
    use_address(w, in, vaddr, 1);
    v = row(w, vaddr.first);
  }
  for (u32 i = 0; i < 64; ++i) offset[i] = base + v[i];
}

}  // namespace

void place_vector_memory(Wave& w, const Instruction& in, u32 vaddr, u32 saddr, u32 bytes,
                         Access access, Places& places) {
  const Operand& v = in.operand[vaddr];
  const Operand& s = in.operand[saddr];
  alignas(64) u64 address[64];
  switch (in.opcode->name[0]) {
    case 's': {
      alignas(64) u32 offset[64];
      scratch_offsets(w, in, v, s, offset);
      return place_scratch(w, in, offset, w.exec(), bytes, access, places);
    }
    case 'f':
      global_addresses(w, in, v, Operand{}, address);
      return place_flat(w, in, address, w.exec(), bytes, access, places);
    default:
      global_addresses(w, in, v, s, address);
      return place_global(w, in, address, w.exec(), bytes, access, places);
  }
}

}  // namespace instinct::INSTINCT_LEVEL
