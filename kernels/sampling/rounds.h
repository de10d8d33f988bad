// A token of those that top-p alone keeps, drawn in rounds by a group of lanes: draw_in_rounds of
// sampling.h, with another schedule.
//
// One pass over the row tells all blocks what the entries to draw from weigh, piece by piece, and
// a warp of each draws. Whether top-p keeps that token takes a sum over the row; to know that it
// does, part of the row is enough: entries that are not larger and weigh what may be dropped.
// Otherwise a pass over what lies above decides and, if it refuses, is what the next round draws
// from.
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
  float below[Group::blocks];  // what a block knows of the entries that are not above the draw
  Drawn drawn;
};

template <class Group, class Values>
class Rounds {
  using Memory = RoundsMemory<Group>;

 public:
  WF_DEVICE Rounds(Group& group, Memory& memory, const Values& weights)
      : group_(group), memory_(memory), weights_(weights) {}

  /// The token, the same in all lanes; -1 of a row that cannot be drawn from.
  WF_DEVICE i64 draw(double top_p, const math::Uniforms& uniforms) {
    WF_NO_UNROLL
    for (u32 round = 0;; ++round) {
      double (&masses)[Memory::pieces] = memory_.masses[round % 2];
      measure(masses);
      Group::sync();
      const Pointed at = find_mass<Group>(masses, count(), uniforms[round]);
      if (round == 0) {
        total_ = at.total;
        enough_ = top_p * at.total;
      } else if (at.total < enough_) {
        return drawn_.token;
      }
      if (Group::warp() == 0) draw_once(at);
      Group::template sync<tile::Reach::block>();
      drawn_ = memory_.drawn;
      if (drawn_.is_last || !(top_p < 1) || is_surely_kept()) return drawn_.token;
      threshold_ = next_above(drawn_.weight);
    }
  }

 private:
  WF_DEVICE int count() const { return weights_.pieces.count * Group::blocks * Group::warps; }

  /// Tells all blocks what the entries to draw from weigh; NaN if any is negative.
  WF_DEVICE void measure(double (&masses)[Memory::pieces]) const {
    weigh_pieces<Group>(weights_, threshold_, [&](int piece, double mass, float least) {
      mass = Group::sum_of_warp(least < 0.f ? double{tile::quiet_nan} : mass);
      if (Group::lane() >= Group::blocks) return;
      Group::Blocks::store(&masses[weights_.pieces.number(piece)], Group::lane(), mass);
    });
  }
  /// In one warp of each block, all with the same outcome.
  WF_DEVICE void draw_once(const Pointed& at) const {
    Drawn drawn;
    if (at.total > 0 && at.total < double{tile::infinity}) {
      draw_in_piece<Group>(weights_, at, threshold_, drawn.token, drawn.weight);
    }
    const auto found = Group::ballot(drawn.token >= 0);
    drawn.is_last = found == 0;
    if (Group::lane() == (found == 0 ? 0 : Group::first_of(found))) memory_.drawn = drawn;
  }
  /// Whether entries that are not larger than what was drawn are known to weigh what top_p may
  /// drop; the last pieces first, which are near since they were the last to be read. The sums in
  /// float32 are smaller than the true ones by that slack at most.
  WF_DEVICE bool is_surely_kept() {
    const auto& pieces = weights_.pieces;
    const auto plus = [](float a, float b) { return a + b; };
    const double own = static_cast<double>(pieces.count * pieces.columns() / Group::warp_lanes);
    const double needed = (total_ - enough_) * (1 + (own + 64) * 0x1p-23);
    // A block stops by itself, with some more than its share: so each asks as often as it likes.
    const double share = Group::blocks == 1 ? needed : needed * 1.25 / Group::blocks;
    float mine = 0, all = 0;
    WF_NO_UNROLL
    for (int piece = pieces.count - 1; piece >= 0 && !(all > share); --piece) {
      weights_.for_batches(piece, [&](const auto& batch) {
        batch.for_values([&](float a) { mine += a <= drawn_.weight ? a : 0.f; });
      });
      if (piece % 2 == 0) all = group_.template reduce<tile::Reach::block>(mine, plus);
    }
    if constexpr (Group::blocks > 1) {
      // (Not a message of the group's: its blocks have had different numbers of them.)
      if (Group::thread() < Group::blocks) {
        Group::Blocks::store(&memory_.below[Group::block_rank()], Group::thread(), all);
      }
      Group::sync();
      all = 0;
      WF_UNROLL
      for (float part : memory_.below) all += part;
    }
    return all > needed;
  }

  Group& group_;
  Memory& memory_;
  const Values& weights_;
  float threshold_ = -tile::infinity;  // of what a round draws from
  double total_ = 0, enough_ = 0;
  Drawn drawn_;
};

WF_NAMESPACE_END
