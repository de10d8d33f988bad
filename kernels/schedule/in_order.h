// Every lane of the team loads and computes; tile i + 1 is on its way while tile i is computed.
//
//   stage   | load in flight       | compute
//   --------|----------------------|-------------------------------
//   i       | K(i+1)               | scores(i), softmax(i), rescale
//   i       | K(i+1), V(i+1)       | accumulate(i)
//
// With one stage the next tile may be fetched (registers, cache) before `end` places it.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(schedule)

struct InOrder {
  template <class Steps, class Item>
  WF_DEVICE static void run(Steps& steps, const Item& item) {
    steps.begin_item(item);
    const i32 tiles = steps.tiles();
    if (tiles > 0) {
      steps.load_k_begin(0);
      steps.load_v_begin(0);
    }
    for (i32 i = 0; i < tiles; ++i) {
      steps.load_k_end(i);
      steps.scores_begin(i);
      steps.load_k_begin(
          i + 1);  // behind the last tile: an empty load, so that completions count alike
      steps.scores_end();
      steps.softmax(i);
      steps.rescale();
      steps.load_v_end(i);
      steps.accumulate_begin(i);
      steps.load_v_begin(i + 1);
      steps.accumulate_end();
    }
    steps.finish(item);
    steps.end_item();
  }
};

WF_NAMESPACE_END
