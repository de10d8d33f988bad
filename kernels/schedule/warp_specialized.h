// One kind of lanes loads, the other computes; stages pass between them.
//
//   loading lanes:    acquire K(i), load K(i), acquire V(i), load V(i), i + 1, ...
//
//   computing lanes   | products under way           | beside them
//   ------------------|------------------------------|--------------------------------
//   K(i), V(i-1) full | scores(i), accumulate(i-1)   |
//   scores(i) there   | accumulate(i-1)              | weights of tile i, release K(i)
//   accumulated(i-1)  |                              | release V(i-1), rescale, place weights
//
// The softmax of a tile thus runs beside the second product of the tile before. With `stages` tiles
// in flight the loads run that far ahead of the products.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(schedule)

struct WarpSpecialized {
  struct Load {
    static constexpr bool only_loads = true;

    template <class Steps, class Item>
    WF_DEVICE static void run(Steps& steps, const Item& item) {
      steps.begin_loads(item);
      for (i32 i = 0; i < steps.tiles(); ++i) {
        steps.acquire_k(i);
        steps.load_k_begin(i);
        steps.acquire_v(i);
        steps.load_v_begin(i);
      }
      steps.end_item();
    }
  };

  struct Compute {
    template <class Steps, class Item>
    WF_DEVICE static void run(Steps& steps, const Item& item) {
      steps.begin_item(item);
      if (steps.tiles() > 0) compute(steps, steps.tiles());
      steps.finish(item);
      steps.end_item();
    }

   private:
    template <class Steps>
    WF_DEVICE static void compute(Steps& steps, i32 tiles) {
      steps.load_k_end(0);
      steps.scores_begin(0);
      steps.scores_end();
      steps.release_k(0);
      steps.softmax(0);
      for (i32 i = 1; i < tiles; ++i) {
        steps.load_v_end(i - 1);
        steps.add_non_finite(i - 1);
        steps.load_k_end(i);
        // A branch while products are under way would keep compilers from moving work beside them.
        if (steps.is_plain(i)) {
          overlap<true>(steps, i);
        } else {
          overlap<false>(steps, i);
        }
      }
      steps.load_v_end(tiles - 1);
      steps.accumulate_begin(tiles - 1);
      steps.accumulate_end();
      steps.release_v(tiles - 1);
    }

    /// The softmax of tile i beside the second product of tile i - 1.
    template <bool plain, class Steps>
    WF_DEVICE static void overlap(Steps& steps, i32 i) {
      steps.scores_begin(i);
      steps.add_products_begin(i - 1);
      steps.older_scores_end();
      steps.template weigh<plain>(i);
      steps.release_k_weighed(i);
      steps.accumulate_end();
      steps.release_v(i - 1);
      steps.rescale();
      steps.place_weights(i);
    }
  };
};

WF_NAMESPACE_END
