// Two halves of a team take turns: while one multiplies, the other takes weights from scores. On
// CDNA a SIMD holds a wave of each half, so that its matrix unit and its vector unit both work.
//
//   turn    | early half                    | late half
//   --------|-------------------------------|------------------------------------
//   2i      | weights(i), place K(i+1)      | accumulate(i-1), scores(i)
//   2i + 1  | accumulate(i), scores(i+1)    | weights(i), place V(i+1)
//
// A turn ends at a barrier of the whole team. The early half loads K and the late one V: tile i + 1
// is in place a turn before its first use, in the stage of tile i - 1, which nobody reads any more.
#pragma once

#include "schedule/in_order.h"

WF_NAMESPACE_BEGIN(schedule)

struct PingPong {
  template <class Steps, class Item>
  WF_DEVICE static void run(Steps& steps, const Item& item) {
    static_assert(Steps::stages == 2);
    steps.begin_item(item);
    steps.load_q_begin(item);
    if (steps.tiles() > 0) take_turns(steps, steps.tiles());
    steps.finish(item);
    steps.end_item();
  }

 private:
  template <class Steps>
  WF_DEVICE static void take_turns(Steps& steps, i32 tiles) {
    const bool late = Steps::is_late_half();
    const auto share = steps.share();
    steps.load_share_begin(share, 0);
    place(steps, share, 0);
    Steps::end_turn();
    steps.scores_begin(0);
    steps.scores_end();
    if (late) Steps::end_turn();
    for (i32 i = 0; i < tiles; ++i) {
      weigh(steps, i);
      steps.rescale();
      place(steps, share, i + 1);
      Steps::end_turn();
      Steps::begin_products();
      steps.add_left_out(i);
      steps.add_products_begin(i);
      steps.accumulate_end();
      if (i + 1 < tiles) {
        steps.scores_begin(i + 1);
        steps.scores_end();
      }
      Steps::end_products();
      Steps::end_turn();
    }
    if (!late) Steps::end_turn();
  }

  template <class Steps>
  WF_DEVICE static void weigh(Steps& steps, i32 i) {
    if (steps.is_plain(i)) {
      steps.template weigh<true>(i);
    } else {
      steps.template weigh<false>(i);
    }
    steps.template place_weights<false>(i);
  }

  /// Tile i, and asks for the one behind it.
  template <class Steps, class Share>
  WF_DEVICE static void place(Steps& steps, const Share& share, i32 i) {
    steps.load_share_end(share, i);
    steps.load_share_begin(share, i + 1);
  }
};

/// Eight waves take turns; fewer go in order.
template <int waves>
struct ByWaves : InOrder {};
template <>
struct ByWaves<8> : PingPong {};

WF_NAMESPACE_END
