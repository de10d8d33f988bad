// Every lane of the team loads and computes; the next `ahead` tiles are on their way while tile i
// is computed.
//
//   stage   | last load in flight  | compute
//   --------|----------------------|-------------------------------
//   i       | K(i+ahead)           | scores(i), softmax(i), rescale
//   i       | V(i+ahead)           | accumulate(i)
//
// With one stage the next tile may be fetched (registers, cache) before `end` places it.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(schedule)

struct InOrder {
  template <class Steps, class Item>
  WF_DEVICE static void run(Steps& steps, const Item& item) {
    steps.begin_item(item);
    steps.load_q_begin(item);
    const i32 tiles = steps.tiles();
    // Behind the last tile loads are empty, so that completions count alike.
    WF_UNROLL
    for (i32 i = 0; i < Steps::ahead; ++i) {
      steps.load_k_begin(i);
      steps.load_v_begin(i);
    }
    for (i32 i = 0; i < tiles; ++i) {
      steps.load_k_end(i);
      steps.scores_begin(i);
      steps.load_k_begin(i + Steps::ahead);
      steps.scores_end();
      steps.softmax(i);
      steps.rescale();
      steps.load_v_end(i);
      steps.accumulate_begin(i);
      steps.load_v_begin(i + Steps::ahead);
      steps.accumulate_end();
    }
    steps.finish(item);
    steps.end_item();
  }
};

WF_NAMESPACE_END
