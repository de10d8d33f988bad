// Philox4x32-10, a counter-based random number generator: Salmon, Moraes, Dror, Shaw, "Parallel
// random numbers: as easy as 1, 2, 3" (2011). The same numbers on every machine.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(math)

struct Philox {
  u32 word[4];
};

/// Four random words for a 128-bit counter (low, high) under a 64-bit key.
WF_BOTH Philox philox(u64 key, u64 counter_low, u64 counter_high) {
  u32 k0 = static_cast<u32>(key), k1 = static_cast<u32>(key >> 32);
  u32 c0 = static_cast<u32>(counter_low), c1 = static_cast<u32>(counter_low >> 32);
  u32 c2 = static_cast<u32>(counter_high), c3 = static_cast<u32>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = u64{0xD2511F53u} * c0;
    const u64 p1 = u64{0xCD9E8D57u} * c2;
    c0 = static_cast<u32>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<u32>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<u32>(p1);
    c3 = static_cast<u32>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// Uniform in (0, 1): 2^-53 (2 n + 1) for the 52 upper bits n of two words. Never 0, never 1.
WF_BOTH double to_uniform(u32 high, u32 low) {
  const u64 n = (u64{high} << 32 | low) >> 12;
  return (static_cast<double>(n) + 0.5) * 2.220446049250313e-16;
}

/// The uniform numbers of a sample, two of each four words. Rows are fewer than 2^32.
struct Uniforms {
  u64 seed, offset, row;

  WF_BOTH double operator[](u32 i) const {
    const Philox words = philox(seed, offset, row + (u64{i / 2} << 32));
    const bool first = i % 2 == 0;
    return to_uniform(first ? words.word[0] : words.word[2], first ? words.word[1] : words.word[3]);
  }
};

WF_NAMESPACE_END
