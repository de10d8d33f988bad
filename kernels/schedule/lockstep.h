// A bundle of heads goes through the KV tiles in step, so that the rows of all heads of a token,
// which lie side by side in memory, are read close in time. In order otherwise: one lane, nothing
// overlaps but the caches' work for tile i + 1.
//
//   tile i:  for each head: place K(i), fetch K(i+1), scores
//            for each head: softmax, rescale
//            for each head: place V(i), fetch V(i+1), accumulate
//
// The softmax of one row is a chain of instructions that wait for each other: side by side, those
// of the heads fill each other's waits.
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(schedule)

struct Lockstep {
  template <class Bundle, class Item>
  WF_DEVICE static void run(Bundle& bundle, const Item& item) {
    for (i32 head = 0; head < bundle.heads(); ++head) {
      bundle.steps[head].begin_item(bundle.item(item, head));
      bundle.steps[head].load_q_begin(bundle.item(item, head));
    }
    const i32 tiles = bundle.steps[0].tiles();
    for (i32 i = 0; i < tiles; ++i) {
      for (i32 head = 0; head < bundle.heads(); ++head) {
        auto& steps = bundle.steps[head];
        steps.load_k_begin(i + 1);
        if (steps.is_hidden(i)) continue;
        steps.load_k_end(i);
        steps.scores_begin(i);
        steps.scores_end();
      }
      for (i32 head = 0; head < bundle.heads(); ++head) {
        auto& steps = bundle.steps[head];
        if (steps.is_hidden(i)) continue;
        steps.softmax(i);
        steps.rescale();
      }
      for (i32 head = 0; head < bundle.heads(); ++head) {
        auto& steps = bundle.steps[head];
        steps.load_v_begin(i + 1);
        if (steps.is_hidden(i)) continue;
        steps.load_v_end(i);
        steps.accumulate_begin(i);
        steps.accumulate_end();
      }
    }
    for (i32 head = 0; head < bundle.heads(); ++head) {
      bundle.steps[head].finish(bundle.item(item, head));
    }
  }
};

WF_NAMESPACE_END
