// Fragment layouts are data: (lane, element) -> (row, column), and proofs about them.
//
// A layout describes how the lanes of a team hold a tile of accumulators:
//
//   rows, cols      extent of the tile
//   lanes           lanes that hold it together
//   slots           rows that one lane holds
//   per_slot        elements that a lane holds of each of its rows
//   width           neighbouring columns in one element (1 on a GPU, the vector width on a CPU)
//   row(lane, slot), col(lane, j), index(slot, j)
//                   place of an element, and its position in the fragment's storage
//   reduce_count, reduce_mask(i)
//                   lanes that share a row differ by xor with any combination of these masks
//
// Maps, reductions, masks and stores are derived from it (fragment.h).
#pragma once

#include "tile/target.h"

WF_NAMESPACE_BEGIN(tile)

/// Every (row, column) of the tile is held exactly once.
template <class L>
consteval bool is_partition() {
  bool seen[L::rows * L::cols] = {};
  for (int lane = 0; lane < L::lanes; ++lane) {
    for (int slot = 0; slot < L::slots; ++slot) {
      for (int j = 0; j < L::per_slot; ++j) {
        for (int k = 0; k < L::width; ++k) {
          const int place = L::row(lane, slot) * L::cols + L::col(lane, j) + k;
          if (place < 0 || place >= L::rows * L::cols || seen[place]) return false;
          seen[place] = true;
        }
      }
    }
  }
  return L::lanes * L::slots * L::per_slot * L::width == L::rows * L::cols;
}

/// `index` numbers a lane's elements 0 .. slots * per_slot - 1, each once.
template <class L>
consteval bool is_dense() {
  bool seen[L::slots * L::per_slot] = {};
  for (int slot = 0; slot < L::slots; ++slot) {
    for (int j = 0; j < L::per_slot; ++j) {
      const int at = L::index(slot, j);
      if (at < 0 || at >= L::slots * L::per_slot || seen[at]) return false;
      seen[at] = true;
    }
  }
  return true;
}

/// The lanes reached from a lane by the reduction masks are exactly those that hold its rows.
template <class L>
consteval bool reduces_rows() {
  for (int lane = 0; lane < L::lanes; ++lane) {
    int holders = 0;
    for (int other = 0; other < L::lanes; ++other) {
      if (L::row(other, 0) == L::row(lane, 0)) ++holders;
    }
    if (holders != 1 << L::reduce_count) return false;
    for (int combination = 0; combination < 1 << L::reduce_count; ++combination) {
      int other = lane;
      for (int i = 0; i < L::reduce_count; ++i) {
        if (combination >> i & 1) other ^= L::reduce_mask(i);
      }
      for (int slot = 0; slot < L::slots; ++slot) {
        if (L::row(other, slot) != L::row(lane, slot)) return false;
      }
    }
  }
  return true;
}

/// What each layout must fulfil; architectures assert it beside the definition.
template <class L>
consteval bool is_sound() {
  return is_partition<L>() && is_dense<L>() && reduces_rows<L>();
}

WF_NAMESPACE_END
