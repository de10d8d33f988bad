// Values that are not finite, in keys that some rows do not see. Their weight is zero there, but
// zero times NaN or infinity is NaN. So they are taken out of a tile before its product, and count
// by a product of their own: of marks, which are finite, with ones where a row weighs a key. It
// needs few registers, since what is rare must not cost the main loop any.
#pragma once

#include "tile/sm80/mma.h"

WF_NAMESPACE_BEGIN(tile)

/// The highest bit of each element of `word` that is NaN or infinite.
template <DType dtype>
WF_DEVICE u32 non_finite_flags(u32 word) {
  switch (dtype) {
    case DType::bf16: return ((word & 0x7fff7fffu) + 0x00800080u) & 0x80008000u;
    case DType::f16: return ((word & 0x7fff7fffu) + 0x04000400u) & 0x80008000u;
    case DType::e5m2: return ((word & 0x7f7f7f7fu) + 0x04040404u) & 0x80808080u;
    case DType::e4m3fn: return ((word & 0x7f7f7f7fu) + 0x01010101u) & 0x80808080u;
    default: break;  // fnuz: 0x80 alone
  }
  const u32 zero_for_nan = word ^ 0x80808080u;
  return ~(((zero_for_nan & 0x7f7f7f7fu) + 0x7f7f7f7fu) | zero_for_nan) & 0x80808080u;
}

/// Calls f(word) for this lane's share of a tile's words; every warp goes through all of them.
template <class Tile, class F>
WF_DEVICE void for_words(Tile& tile, F&& f) {
  u32* words = reinterpret_cast<u32*>(tile.bytes);
  for (int i = isa::thread_anew() % 32; i < static_cast<int>(sizeof tile.bytes / 4); i += 32) {
    f(words[i]);
  }
}

// Sums of marks over at most 127 keys tell how many of each there are.
inline constexpr int infinity_mark = 1, minus_infinity_mark = 128, nan_mark = 16384;

/// The mark of half `half` of a pair of f16 or bf16; 0 for finite numbers.
template <DType dtype>
WF_DEVICE float mark_of(u32 pair, int half) {
  const float a = isa::unpack<dtype>(pair, half);
  if (abs(a) < infinity) return 0.f;
  if (abs(a) == infinity) return a > 0.f ? infinity_mark : minus_infinity_mark;
  return nan_mark;
}

/// What elements with these marks add up to.
WF_DEVICE float sum_of_marks(float marks) {
  const int sum = static_cast<int>(marks);
  const bool plus = sum % minus_infinity_mark != 0;
  const bool minus = sum % nan_mark >= minus_infinity_mark;
  if (sum >= nan_mark || (plus && minus)) return quiet_nan;
  return plus ? infinity : -infinity;
}

/// c += the products of weights that are not zero with values that are not finite.
template <class Accumulator, class Weights, class Tile>
WF_DEVICE void add_marked(Accumulator& c, const Weights& a, const Tile& b) {
  using Right = RightOperand<Tile, Weights::dtype>;
  static_assert(Tile::rows < minus_infinity_mark);
  const auto one_if = [](u32 bits) { return bits != 0 ? 1.f : 0.f; };
  const u32 base = Right::base_of(b, isa::thread_anew() % 32);
  WF_UNROLL
  for (int n = 0; n < Tile::cols / Right::cols; ++n) {
    float marks[Right::cols / 2] = {};
    WF_UNROLL
    for (int k = 0; k < Weights::cols / 16; ++k) {
      Right right;
      right.load(base, k, n);
      u32 ones[4];
      WF_UNROLL
      for (int i = 0; i < 4; ++i) {
        ones[i] = isa::pack<Weights::dtype>(one_if(a.r[k][i] & 0x7fff), one_if(a.r[k][i] >> 16));
      }
      WF_UNROLL
      for (int i = 0; i < Right::cols / 8; ++i) {
        u32 marked[2];
        WF_UNROLL
        for (int r = 0; r < 2; ++r) {
          marked[r] = isa::pack<Weights::dtype>(mark_of<Weights::dtype>(right.pair[i][r], 0),
                                                mark_of<Weights::dtype>(right.pair[i][r], 1));
        }
        isa::mma_16x8x16<Weights::dtype>(marks + i * 4, ones, marked[0], marked[1]);
      }
    }
    WF_UNROLL
    for (int i = 0; i < Right::cols / 2; ++i) {
      if (marks[i] != 0.f) c.e[n * Right::cols / 2 + i] += sum_of_marks(marks[i]);
    }
  }
}

/// c += the part of a b that comes from values of b which are not finite; these become zero. `sync`
/// is a barrier of the team that also orders the stores before the product.
template <class Accumulator, class Weights, class Tile, class Sync>
WF_DEVICE void extract_non_finite(Accumulator& c, const Weights& a, Tile& b, Sync&& sync) {
  u32 found = 0;
  for_words(b, [&](u32 word) { found |= non_finite_flags<Tile::dtype>(word); });
  if (isa::ballot(found != 0) == 0) return;
  add_marked(c, a, b);
  sync();
  constexpr int bits = size_of(Tile::dtype) * 8;
  constexpr u32 ones = (u32{1} << bits) - 1;
  for_words(b, [&](u32& word) {
    const u32 flags = non_finite_flags<Tile::dtype>(word);
    if (flags != 0) word &= ~((flags >> (bits - 1)) * ones);
  });
  sync();
}

WF_NAMESPACE_END
