#include "virtual/handlers/shadow.h"

#include <cstring>

#include "virtual/handlers/define.h"

namespace instinct::INSTINCT_LEVEL {

namespace {

// A shift by an unknown amount is unknown.
u32 whole(u32 undefined_amount, u32 bits) { return undefined_amount ? ~0u : bits; }

}  // namespace

void shadow_move(u32* d, const u32* const*, const u32* const* u, const LaneContext&) {
  std::memcpy(d, u[0], sizeof(Row));
}

void shadow_move64(u32* d, const u32* const*, const u32* const* u, const LaneContext&) {
  std::memcpy(d, u[0], 2 * sizeof(Row));
}

// A known 0 decides an AND, a known 1 an OR.
void shadow_and(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    d[i] = (u[0][i] & (s[1][i] | u[1][i])) | (u[1][i] & (s[0][i] | u[0][i]));
  }
}

void shadow_or(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    d[i] = (u[0][i] & (~s[1][i] | u[1][i])) | (u[1][i] & (~s[0][i] | u[0][i]));
  }
}

void shadow_xor(u32* d, const u32* const*, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) d[i] = u[0][i] | u[1][i];
}

void shadow_or3(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    const u32 ones = (s[0][i] & ~u[0][i]) | (s[1][i] & ~u[1][i]) | (s[2][i] & ~u[2][i]);
    d[i] = (u[0][i] | u[1][i] | u[2][i]) & ~ones;
  }
}

void shadow_and_or(u32* d, const u32* const* s, const u32* const* u, const LaneContext& c) {
  shadow_and(d, s, u, c);
  for (u32 i = 0; i < 64; ++i) {
    const u32 ones = (s[2][i] & ~u[2][i]) | (s[0][i] & s[1][i] & ~u[0][i] & ~u[1][i]);
    d[i] = (d[i] | u[2][i]) & ~ones;
  }
}

void shadow_lshl_or(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    d[i] = whole(u[1][i], u[0][i] << (s[1][i] & 31)) | u[2][i];
  }
}

void shadow_lshlrev(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) d[i] = whole(u[0][i], u[1][i] << (s[0][i] & 31));
}

void shadow_lshrrev(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) d[i] = whole(u[0][i], u[1][i] >> (s[0][i] & 31));
}

void shadow_ashrrev(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    d[i] = whole(u[0][i], static_cast<u32>(static_cast<i32>(u[1][i]) >> (s[0][i] & 31)));
  }
}

void shadow_bfe_u32(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    const u32 width = s[2][i] & 31;
    d[i] = whole(u[1][i] | u[2][i], u[0][i] >> (s[1][i] & 31) & ((1u << width) - 1));
  }
}

void shadow_bfe_i32(u32* d, const u32* const* s, const u32* const* u, const LaneContext& c) {
  shadow_bfe_u32(d, s, u, c);
  for (u32 i = 0; i < 64; ++i) {  // the sign is copied
    const u32 width = s[2][i] & 31;
    if (width && d[i] >> (width - 1) & 1) d[i] |= ~((1u << width) - 1);
  }
}

void shadow_bfi(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    const u32 mask = s[0][i];
    d[i] = (mask & u[1][i]) | (~mask & u[2][i]) |
           (u[0][i] & ((s[1][i] ^ s[2][i]) | u[1][i] | u[2][i]));
  }
}

// "CDNA3 ISA", V_PERM_B32: selectors 0-3 are bytes of source 1, 4-7 of source 0; the others copy a
// sign or are constant.
void shadow_perm(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    const u64 both = u64{u[0][i]} << 32 | u[1][i];
    u32 bits = 0;
    for (u32 k = 0; k < 4; ++k) {
      const u32 selector = s[2][i] >> 8 * k & 0xff;
      u32 byte = 0;
      if (selector < 8)
        byte = both >> 8 * selector & 0xff;
      else if (selector < 12)
        byte = both >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
      bits |= byte << 8 * k;
    }
    d[i] = whole(u[2][i], bits);
  }
}

void shadow_alignbit(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    const u64 both = u64{u[0][i]} << 32 | u[1][i];
    d[i] = whole(u[2][i] & 31, static_cast<u32>(both >> (s[2][i] & 31)));
  }
}

void shadow_alignbyte(u32* d, const u32* const* s, const u32* const* u, const LaneContext&) {
  for (u32 i = 0; i < 64; ++i) {
    const u64 both = u64{u[0][i]} << 32 | u[1][i];
    d[i] = whole(u[2][i] & 3, static_cast<u32>(both >> 8 * (s[2][i] & 3)));
  }
}

void shadow_packed16(u32* d, const u32* const*, const u32* const* u, const LaneContext& c) {
  std::memset(d, 0, sizeof(Row));
  const u32 count = c.in.sources + (c.in.opcode->flags & reads_dst ? 1 : 0);
  for (u32 k = 0; k < count; ++k) {
    const u32 low = c.in.op_sel >> k & 1 ? 16 : 0, high = c.in.op_sel_hi >> k & 1 ? 16 : 0;
    for (u32 i = 0; i < 64; ++i) {
      d[i] |= (u[k][i] >> low & 0xffff ? 0xffff : 0) | (u[k][i] >> high & 0xffff ? 0xffff0000 : 0);
    }
  }
}

// Only the low halves of the sources are read; the high half of the result is known.
void shadow_low16(u32* d, const u32* const*, const u32* const* u, const LaneContext& c) {
  std::memset(d, 0, sizeof(Row));
  for (u32 k = 0; k < c.in.sources; ++k) {
    for (u32 i = 0; i < 64; ++i) d[i] |= u[k][i] & 0xffff ? 0xffff : 0;
  }
}

void shadow_words(u32* d, const u32* const*, const u32* const* u, const LaneContext& c) {
  const u32 words = c.in.opcode->dst_words;
  std::memset(d, 0, words * sizeof(Row));
  const u32 count = c.in.sources + (c.in.opcode->flags & reads_dst ? 1 : 0);
  for (u32 k = 0; k < count; ++k) {
    const u32 low = c.in.op_sel >> k & 1 ? 64 : 0, high = c.in.op_sel_hi >> k & 1 ? 64 : 0;
    for (u32 i = 0; i < 64; ++i) {
      d[i] |= u[k][i + low] ? ~0u : 0;
      if (words > 1) d[64 + i] |= u[k][i + high] ? ~0u : 0;
    }
  }
}

}  // namespace instinct::INSTINCT_LEVEL
