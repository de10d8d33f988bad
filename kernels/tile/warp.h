// What the lanes of a warp tell each other. Include the rows.h of an architecture before: its
// instructions (isa.h) are these.
#pragma once

#include "tile/several.h"

WF_NAMESPACE_BEGIN(tile)

/// f(word) of every 32 bits of `a`: shuffles of larger types.
template <class T, class F>
WF_DEVICE T map_words(T a, F&& f) {
  struct Words {
    u32 word[sizeof(T) / 4];
  };
  Words words = __builtin_bit_cast(Words, a);
  WF_UNROLL
  for (u32& word : words.word) word = f(word);
  return __builtin_bit_cast(T, words);
}

struct Warp {
  static constexpr int warp_lanes = isa::warp_lanes;
  using Lanes = isa::Lanes;  // a bit for each

  WF_DEVICE static int thread() { return isa::thread(); }
  WF_DEVICE static int lane() { return isa::thread() % warp_lanes; }
  WF_DEVICE static int warp() { return isa::thread() / warp_lanes; }
  WF_DEVICE static void warp_sync() { isa::warp_barrier(); }
  /// Adds one to a number in shared memory that several lanes may add to.
  WF_DEVICE static void add_one(u32* p) { isa::add_shared(p, 1); }
  /// One instruction; NaN only if both are.
  WF_DEVICE static float larger(float a, float b) { return isa::max(a, b); }
  WF_DEVICE static float smaller(float a, float b) { return isa::min(a, b); }

  /// If a is at least `bound`: sum += wide, and counts it.
  WF_DEVICE static void add_at_least(double& sum, i32& count, float a, double wide, float bound) {
    isa::add_at_least(sum, count, a, wide, bound);
  }
  WF_DEVICE static void count_equal(i32& count, float a, float b) { isa::count_equal(count, a, b); }

  /// Bit i: lane i has `condition`.
  WF_DEVICE static Lanes ballot(bool condition) { return isa::ballot(condition); }
  WF_DEVICE static int count_of(Lanes lanes_set) { return isa::count_bits(lanes_set); }
  WF_DEVICE static int count_before(Lanes lanes_set) {
    return isa::count_bits(lanes_set & ((Lanes{1} << lane()) - 1));
  }
  /// -1 without any.
  WF_DEVICE static int last_of(Lanes lanes_set) { return isa::last_bit(lanes_set); }
  WF_DEVICE static int first_of(Lanes lanes_set) {
    return isa::last_bit(lanes_set & (~lanes_set + 1));
  }

  template <class T>
  WF_DEVICE static T from_lane(T a, int lane) {
    return map_words(a, [=](u32 w) { return isa::shuffle(w, lane); });
  }
  /// join of all lanes' values, the same in each and at each run.
  template <class T, class Join>
  WF_DEVICE static T join_warp(T a, Join join) {
    WF_UNROLL
    for (int mask = 1; mask < warp_lanes; mask *= 2) {
      a = join(a, map_words(a, [=](u32 w) { return isa::shuffle_xor(w, mask); }));
    }
    return a;
  }
  template <class T>
  WF_DEVICE static T sum_of_warp(T a) {
    return join_warp(a, [](T x, T y) { return x + y; });
  }
  template <class T>
  WF_DEVICE static T largest_of_warp(T a) {
    return join_warp(a, [](T x, T y) { return max(x, y); });
  }
  /// Sums over the lanes up to this one, before it, and from it on.
  template <class T>
  WF_DEVICE static T sum_to_lane(T a) {
    WF_UNROLL
    for (int i = 1; i < warp_lanes; i *= 2) {
      const T other = from_lane(a, max(lane() - i, 0));
      if (lane() >= i) a = a + other;
    }
    return a;
  }
  WF_DEVICE static i32 count_to_lane(i32 a) { return isa::sum_to_lane(a); }
  template <class T>
  WF_DEVICE static T sum_before_lane(T a) {
    const T sum = from_lane(sum_to_lane(a), max(lane() - 1, 0));
    return lane() > 0 ? sum : T{};
  }
  template <class T>
  WF_DEVICE static T sum_from_lane(T a) {
    WF_UNROLL
    for (int i = 1; i < warp_lanes; i *= 2) {
      const T other = from_lane(a, min(lane() + i, warp_lanes - 1));
      if (lane() + i < warp_lanes) a = a + other;
    }
    return a;
  }
};

WF_NAMESPACE_END
