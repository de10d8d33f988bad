// One kind of lanes loads, the other computes; stages pass between them.
//
//   loading lanes:    K(0), queries, V(0), K(1), V(1), ... each as soon as its stage is free
//
//   computing lanes   | products under way           | beside them
//   ------------------|------------------------------|--------------------------------
//   K(i), V(i-1) full, turn taken
//                     | scores(i), accumulate(i-1)   | pass the turn
//   scores(i) there   | accumulate(i-1)              | weights of tile i, release K(i)
//   accumulated(i-1)  |                              | release V(i-1), rescale, place weights
//
// The softmax of a tile thus runs beside the second product of the tile before, and beside the
// products of the other group of lanes: groups issue products in turn, or they would share the
// matrix units at one time and the exponentials at another. With `stages` tiles in flight the loads
// run that far ahead of the products, into the next item.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(schedule)

struct WarpSpecialized {
  struct Load {
    static constexpr bool only_loads = true;

    template <class Steps, class Item>
    WF_DEVICE static void run(Steps& steps, const Item& item) {
      steps.begin_loads(item);
      if (steps.tiles() > 0) load_k(steps, 0);
      steps.load_q_begin(item);  // also without keys: they tell of the item
      for (i32 i = 0; i < steps.tiles(); ++i) {
        if (i > 0) load_k(steps, i);
        steps.acquire_v(i);
        steps.load_v_begin(i);
      }
      steps.end_item();
    }

   private:
    template <class Steps>
    WF_DEVICE static void load_k(Steps& steps, i32 i) {
      steps.acquire_k(i);
      steps.load_k_begin(i);
    }
  };

  struct Compute {
    template <class Steps>
    WF_DEVICE static const auto& take_item(Steps& steps) {
      return steps.take_item();
    }

    template <class Steps, class Item>
    WF_DEVICE static void run(Steps& steps, const Item& item) {
      steps.begin_item(item);
      if (steps.tiles() > 0) compute(steps, steps.tiles());
      steps.finish(steps.item());  // read anew: registers are short until here
      steps.release_q();
      steps.end_item();
    }

   private:
    template <class Steps>
    WF_DEVICE static void compute(Steps& steps, i32 tiles) {
      steps.load_q_end();
      steps.load_k_end(0);
      steps.scores_begin(0);
      steps.scores_end();
      steps.release_k(0);
      steps.softmax(0);
      const i32 plain_begin = steps.plain_begin(), plain_end = steps.plain_end();
      for (i32 i = 1; i < tiles;) {
        // Most tiles, in a loop of their own: a branch while products are under way would keep
        // compilers from moving work beside them.
        if (i > plain_begin) {
          for (; i < plain_end; ++i) overlap<true>(steps, i);
        }
        if (i < tiles) overlap<false>(steps, i++);
      }
      steps.load_v_end(tiles - 1);
      steps.accumulate_begin(tiles - 1);
      steps.accumulate_end();
      steps.release_v(tiles - 1);
    }

    /// The softmax of tile i beside the second product of tile i - 1. Plain: neither hides keys.
    template <bool plain, class Steps>
    WF_DEVICE static void overlap(Steps& steps, i32 i) {
      steps.load_v_end(i - 1);
      if constexpr (!plain) steps.add_non_finite(i - 1);
      steps.load_k_end(i);
      steps.take_turn();
      steps.scores_begin(i);
      steps.add_products_begin(i - 1);
      steps.pass_turn();
      steps.older_scores_end();
      steps.template weigh<plain>(i);
      steps.release_k_weighed(i);
      steps.accumulate_end();
      steps.release_v(i - 1);
      steps.rescale();
      steps.template place_weights<plain>(i);
    }
  };
};

WF_NAMESPACE_END
