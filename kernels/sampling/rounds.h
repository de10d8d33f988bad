// A token of those that top-p alone keeps, drawn in rounds by a group of lanes: draw_in_rounds of
// sampling.h, with another schedule.
//
// One pass over the row, whose values the group keeps where there is the memory, tells all blocks
// what the entries above the last draw weigh, piece by piece. That decides about the last draw and,
// if it is refused, is what the next one is drawn from.
#pragma once

#include "sampling/group.h"

WF_NAMESPACE_BEGIN(sampling)

/// A token (-1: none) and its weight; whether it is the result.
struct Drawn {
  i64 token = -1;
  float weight = 0.f;
  bool is_last = true;
};

template <class Group>
struct RoundsMemory : Group::Memory {
  static constexpr int pieces = Group::most_pieces * Group::blocks * Group::warps;
  /// Of the entries that a round draws from. A block may be a round ahead of one that reads.
  double masses[2][pieces];
  Drawn drawn;
};

template <class Group, class Values>
class Rounds {
  using Memory = RoundsMemory<Group>;

 public:
  WF_DEVICE Rounds(Memory& memory, const Values& weights) : memory_(memory), weights_(weights) {}

  /// The token, the same in all lanes; -1 of a row that cannot be drawn from.
  WF_DEVICE i64 draw(double top_p, const math::Uniforms& uniforms) {
    float threshold = -tile::infinity;
    WF_NO_UNROLL
    for (u32 round = 0;; ++round) {
      double (&masses)[Memory::pieces] = memory_.masses[round % 2];
      measure(threshold, masses);
      Group::sync();
      if (Group::warp() == 0) decide(masses, threshold, top_p, uniforms, round);
      Group::template sync<tile::Reach::block>();
      const Drawn drawn = memory_.drawn;
      if (drawn.is_last) return drawn.token;
      threshold = next_above(drawn.weight);
    }
  }

 private:
  /// Tells all blocks what the entries of at least `threshold` weigh; NaN if any is negative.
  WF_DEVICE void measure(float threshold, double (&masses)[Memory::pieces]) const {
    weigh_pieces<Group>(weights_, threshold, [&](int piece, double mass, float least) {
      mass = Group::sum_of_warp(least < 0.f ? double{tile::quiet_nan} : mass);
      if (Group::lane() >= Group::blocks) return;
      Group::Blocks::store(&masses[weights_.pieces.number(piece)], Group::lane(), mass);
    });
  }
  /// In one warp of each block, all with the same outcome: whether the last draw stays, or a new
  /// one.
  WF_DEVICE void decide(const double (&masses)[Memory::pieces], float threshold, double top_p,
                        const math::Uniforms& uniforms, u32 round) {
    const int count = weights_.pieces.count * Group::blocks * Group::warps;
    const Pointed at = find_mass<Group>(masses, count, uniforms[round]);
    Drawn drawn;
    if (round == 0) enough_ = top_p * at.total;
    if (round > 0 && at.total < enough_) {
      if (Group::lane() == 0) memory_.drawn.is_last = true;
      return;
    }
    if (at.total > 0 && at.total < double{tile::infinity}) {
      draw_in_piece<Group>(weights_, at, threshold, drawn.token, drawn.weight);
    }
    const auto found = Group::ballot(drawn.token >= 0);
    drawn.is_last = found == 0 || !(top_p < 1);
    if (Group::lane() == (found == 0 ? 0 : Group::first_of(found))) memory_.drawn = drawn;
  }

  Memory& memory_;
  const Values& weights_;
  double enough_ = 0;
};

WF_NAMESPACE_END
