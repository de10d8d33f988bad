// One kind of lanes loads, the other computes; stages pass between them.
//
//   loading lanes:    acquire K(i), load K(i), acquire V(i), load V(i), i + 1, ...
//   computing lanes:  K(i) full -> scores(i) -> release K(i) -> softmax(i), rescale
//                     V(i) full -> accumulate(i) -> release V(i)
//
// With `stages` tiles in flight the loads run that far ahead of the products.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(schedule)

template <class Arch>
struct WarpSpecialized {
  template <class Steps, class Item>
  WF_DEVICE static void run(Steps& steps, const Item& item) {
    if (Arch::computes()) {
      compute(steps, item);
    } else {
      load(steps, item);
    }
    steps.end_item();
  }

 private:
  template <class Steps, class Item>
  WF_DEVICE static void load(Steps& steps, const Item& item) {
    steps.begin_loads(item);
    for (i32 i = 0; i < steps.tiles(); ++i) {
      steps.acquire_k(i);
      steps.load_k_begin(i);
      steps.acquire_v(i);
      steps.load_v_begin(i);
    }
  }

  template <class Steps, class Item>
  WF_DEVICE static void compute(Steps& steps, const Item& item) {
    steps.begin_item(item);
    for (i32 i = 0; i < steps.tiles(); ++i) {
      steps.load_k_end(i);
      steps.scores_begin(i);
      steps.scores_end();
      steps.release_k(i);
      steps.softmax(i);
      steps.rescale();
      steps.load_v_end(i);
      steps.accumulate_begin(i);
      steps.accumulate_end();
      steps.release_v(i);
    }
    steps.finish(item);
  }
};

WF_NAMESPACE_END
