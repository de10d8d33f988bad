// What loads and stores share: where each lane goes, checked, and how bytes become registers.
#pragma once

#include <cstring>

#include "virtual/handlers/lanes.h"

namespace instinct::INSTINCT_LEVEL {

// Where the lanes of an access go. Every lane of `mask` has `data`; `shadow` knows which of its
// bits are undefined: nullptr none, else a byte for each byte, of undefined bits or (`inverted`) of
// defined ones.
struct Places {
  u64 mask = 0;
  u64 inverted = 0;
  bool shadowed = false;  // some lane has a shadow
  bool sparse = false;    // lanes may have none, or different kinds
  u8* data[64];
  u8* shadow[64];
};

// Lanes of a mask, lowest first.
template <class F>
inline void for_lanes(u64 mask, F f) {
  if (mask == ~u64{0}) {
    for (u32 lane = 0; lane < 64; ++lane) f(lane);
    return;
  }
  for (; mask; mask &= mask - 1) f(static_cast<u32>(__builtin_ctzll(mask)));
}

enum class Access : u8 { load, store, atomic };

// Active lanes' addresses in global memory; stops at one outside of every allocation.
void place_global(Wave& w, const Instruction& in, const u64* address, u64 mask, u32 bytes,
                  Access access, Places& places);
void place_scratch(Wave& w, const Instruction& in, const u32* offset, u64 mask, u32 bytes,
                   Access access, Places& places);
// Notes the access for the race check, too.
void place_lds(Wave& w, const Instruction& in, const u32* address, u64 mask, u32 bytes,
               Access access, Places& places);
// An address of the flat space: global memory, or LDS or scratch by its aperture.
void place_flat(Wave& w, const Instruction& in, const u64* address, u64 mask, u32 bytes,
                Access access, Places& places);

// Where the instruction goes: global_* (vaddr, saddr), scratch_*, flat_*. `vaddr`, `saddr`: which
// operands.
void place_vector_memory(Wave& w, const Instruction& in, u32 vaddr, u32 saddr, u32 bytes,
                         Access access, Places& places);

// Stops if a register that makes up an address is undefined in an active lane.
void use_address(Wave& w, const Instruction& in, const Operand& operand, u32 words);
// Likewise for data that leaves the wave; `bits` of each word matter.
void use_data(Wave& w, const Instruction& in, const Operand& operand, u32 words, u32 bits,
              const Places& places);

// Shapes of what one lane loads: `half` 1 and 2 fill the low or high half and keep the other.
template <u32 byte_count, bool is_signed = false, u32 half = 0>
struct Shape {
  static constexpr u32 bytes = byte_count;
  static constexpr u32 words = (byte_count + 3) / 4;
  static constexpr bool keeps = half != 0;

  static u32 extend(const u8* from, u32 old) {
    u32 value = 0;
    std::memcpy(&value, from, byte_count < 4 ? byte_count : 4);
    if constexpr (is_signed) {
      constexpr u32 up = 32 - 8 * byte_count;
      value = static_cast<u32>(static_cast<i32>(value << up) >> up);
    }
    if constexpr (half == 1) value = (old & 0xffff0000) | (value & 0xffff);
    if constexpr (half == 2) value = (old & 0xffff) | value << 16;
    return value;
  }
  // The words of lane `lane`, in rows from d on.
  static void load(u32* d, u32 lane, const u8* from) {
    if constexpr (byte_count < 4) {
      d[lane] = extend(from, d[lane]);
    } else {
      u32 value[words];
      std::memcpy(value, from, byte_count);
      for (u32 k = 0; k < words; ++k) d[64 * k + lane] = value[k];
    }
  }
  // half 2 stores the high half.
  static void store(const u32* s, u32 lane, u8* to) {
    if constexpr (byte_count < 4) {
      const u32 value = half == 2 ? s[lane] >> 16 : s[lane];
      std::memcpy(to, &value, byte_count);
    } else {
      u32 value[words];
      for (u32 k = 0; k < words; ++k) value[k] = s[64 * k + lane];
      std::memcpy(to, value, byte_count);
    }
  }
  // Bits of a register word that are stored.
  static constexpr u32 stored_bits() {
    if constexpr (byte_count >= 4)
      return ~0u;
    else
      return ((1u << 8 * byte_count) - 1) << (half == 2 ? 16 : 0);
  }
};

// Whether any byte that is accessed has an undefined bit.
template <u32 byte_count>
bool any_undefined_byte(const Places& places) {
  constexpr u32 step = byte_count < 8 ? byte_count : byte_count == 12 ? 4 : 8;
  u64 bad = 0;
  const auto look = [&](u32 lane, u64 good) {
    for (u32 i = 0; i < byte_count; i += step) {
      u64 part = 0;
      std::memcpy(&part, places.shadow[lane] + i, step);
      bad |= part ^ good;
    }
  };
  constexpr u64 all = step == 8 ? ~u64{0} : (u64{1} << 8 * step % 64) - 1;
  if (!places.sparse) {  // all of one kind
    const u64 good = places.inverted ? all : 0;
    for_lanes(places.mask, [&](u32 lane) { look(lane, good); });
    return bad != 0;
  }
  for_lanes(places.mask, [&](u32 lane) {
    if (places.shadow[lane]) look(lane, places.inverted >> lane & 1 ? all : 0);
  });
  return bad != 0;
}

// What is undefined of what was loaded to registers from `first` on.
template <class S>
void load_undefined(Wave& w, u32 first, const Places& places) {
  const bool dirty = places.shadowed && any_undefined_byte<S::bytes>(places);
  const bool was = S::keeps && w.dirty.test(first);
  if (!dirty && !was) return set_undefined(w, first, S::words, places.mask, nullptr);
  Row bits[S::words];
  if (was)
    std::memcpy(bits[0].lane, undefined_row(w, first), sizeof(Row));
  else
    std::memset(bits, 0, sizeof(bits));
  for_lanes(places.mask, [&](u32 lane) {
    u8 undefined[16] = {};
    const u8 flip = places.inverted >> lane & 1 ? 0xff : 0;
    if (places.shadow[lane]) {
      for (u32 i = 0; i < S::bytes; ++i) undefined[i] = places.shadow[lane][i] ^ flip;
    }
    S::load(bits[0].lane, lane, undefined);
  });
  set_undefined(w, first, S::words, places.mask, bits[0].lane);
}

template <class S>
void load_lanes(Wave& w, u32 first, const Places& places) {
  u32* d = row(w, first);
  for_lanes(places.mask, [&](u32 lane) { S::load(d, lane, places.data[lane]); });
  if (w.track) load_undefined<S>(w, first, places);
}

// The shadow of what is stored: undefined bits for LDS and scratch; global memory is defined by a
// store, which has been checked.
template <class S>
void store_undefined(Wave& w, u32 first, const Places& places) {
  const bool dirty = w.dirty.any({static_cast<u16>(first), S::words});
  Row clean;
  std::memset(clean.lane, 0, sizeof(clean));
  const u32* u[S::words];
  for (u32 k = 0; k < S::words; ++k) {
    u[k] = w.dirty.test(first + k) ? undefined_row(w, first + k) : clean.lane;
  }
  for_lanes(places.mask, [&](u32 lane) {
    u8* shadow = places.shadow[lane];
    if (!shadow) return;
    if (places.inverted >> lane & 1) {
      std::memset(shadow, 0xff, S::bytes);
    } else if (!dirty) {
      std::memset(shadow, 0, S::bytes);
    } else {
      u32 words[S::words];
      for (u32 k = 0; k < S::words; ++k) words[k] = u[k][lane];
      if constexpr (S::bytes < 4) words[0] >>= S::stored_bits() >> 16 ? 16 : 0;
      std::memcpy(shadow, words, S::bytes);
    }
  });
}

template <class S>
void store_lanes(Wave& w, u32 first, const Places& places) {
  const u32* s = row(w, first);
  for_lanes(places.mask, [&](u32 lane) { S::store(s, lane, places.data[lane]); });
  if (w.track && places.shadowed) store_undefined<S>(w, first, places);
}

}  // namespace instinct::INSTINCT_LEVEL
