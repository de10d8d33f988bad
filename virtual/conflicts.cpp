// How long LDS and the path to memory are busy with an access.
#include <algorithm>
#include <array>

#include "virtual/trace.h"

namespace instinct {
namespace {

// Lanes that LDS serves at once, in the lower 32; the upper half follows likewise. Measured on
// gfx950 by HipKittens (analysis/paper_experiments/phases, MI355X): 128 and 96 bits do not go by
// neighbours. gfx942 has 32 banks for all; its 128-bit phases are taken to be those of 96 bits.
constexpr std::array<u8, 32> sixteen = {0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27,
                                        4, 5, 6, 7, 8,  9,  10, 11, 16, 17, 18, 19, 28, 29, 30, 31};
constexpr std::array<u8, 32> eight = {0, 1, 2,  3,  20, 21, 22, 23, 4,  5,  6,  7,  16, 17, 18, 19,
                                      8, 9, 10, 11, 28, 29, 30, 31, 12, 13, 14, 15, 24, 25, 26, 27};

struct Phases {
  u32 lanes;  // at once
  u32 banks;
  const std::array<u8, 32>* order;  // nullptr: neighbours
};

Phases phases_of(Target target, u32 bytes, bool writes) {
  const bool wide = target == Target::gfx950 && !writes;
  switch (bytes) {
    case 16: return wide ? Phases{16, 64, &sixteen} : Phases{8, 32, &eight};
    case 12: return {8, 32, &eight};
    case 8: return wide ? Phases{32, 64, nullptr} : Phases{16, 32, nullptr};
    default: return wide ? Phases{64, 64, nullptr} : Phases{32, 32, nullptr};
  }
}

// The most of these words, all different, that fall to one bank.
u32 worst_bank(const u32* words, u32 count, u32 banks) {
  u32 of_bank[64] = {}, worst = 1;
  for (u32 i = 0; i < count; ++i) worst = std::max(worst, ++of_bank[words[i] % banks]);
  return worst;
}

}  // namespace

u32 lds_cycles(Target target, const u32* address, u64 mask, u32 bytes, bool writes) {
  const Phases phases = phases_of(target, bytes, writes);
  const u32 words_each = std::max(bytes / 4, 1u);
  u32 cycles = 0;
  for (u32 first = 0; first < 64; first += phases.lanes) {
    u32 words[64 * 4], count = 0;
    for (u32 i = first; i < first + phases.lanes; ++i) {
      const u32 lane = phases.order ? (i & 32) + (*phases.order)[i & 31] : i;
      if (!(mask >> lane & 1)) continue;
      for (u32 k = 0; k < words_each; ++k) words[count++] = address[lane] / 4 + k;
    }
    std::sort(words, words + count);
    count = static_cast<u32>(std::unique(words, words + count) - words);
    if (count) cycles += worst_bank(words, count, phases.banks);
  }
  return std::max(cycles, 1u);
}

u32 memory_cycles(const u64* address, u64 mask, u32 bytes) {
  constexpr u64 line = 128;
  u64 lines[128];
  u32 count = 0, lanes = 0;
  for (u32 lane = 0; lane < 64; ++lane) {
    if (!(mask >> lane & 1)) continue;
    ++lanes;
    lines[count++] = address[lane] / line;
    lines[count++] = (address[lane] + bytes - 1) / line;
  }
  std::sort(lines, lines + count);
  count = static_cast<u32>(std::unique(lines, lines + count) - lines);
  // Two cycles for each line of 128 bytes, or 64 bytes a cycle if lines are used in part.
  const u32 data = std::max(2 * count, lanes * bytes / 64);
  return std::max({4u, (lanes + 15) / 16, data});
}

}  // namespace instinct
