// Fragments: a tile spread over the registers of a team's lanes (on a CPU: over memory close to the
// core). Operations are derived from the layout; no architecture appears here.
#pragma once

#include "tile/element.h"
#include "tile/layout.h"

WF_NAMESPACE_BEGIN(tile)

template <class Element_, class Layout_>
struct alignas(ElementTraits<Element_>::width * 4) Fragment {
  using Element = Element_;
  using Layout = Layout_;
  Element e[Layout::slots * Layout::per_slot];
};

/// One float for each row that a lane holds. Lanes that share a row hold the same value.
template <class Layout>
struct RowVector {
  float e[Layout::slots];
};

/// A lane's share of one sum for each of its rows: it is joined once, at the end (`row_total`).
template <class Element, class Layout>
struct RowPartials {
  Element e[Layout::slots];
};

/// The part of a tile that is in use. GPUs compute whole tiles and ignore it; a CPU does not.
struct Extent {
  int rows;
  int cols;
};

/// Calls f(slot) for each row slot in use.
template <class L, class F>
WF_DEVICE void for_slots(Extent extent, F&& f) {
  WF_UNROLL
  for (int slot = 0; slot < L::active_slots(extent.rows); ++slot) f(slot);
}

/// element = f(element) for those of one row slot.
template <class Fragment, class F>
WF_DEVICE void map_row(Fragment& a, int slot, Extent extent, F&& f) {
  using L = typename Fragment::Layout;
  WF_UNROLL
  for (int j = 0; j < L::active_per_slot(extent.cols); ++j) {
    auto& element = a.e[L::index(slot, j)];
    element = f(element);
  }
}

/// element = f(element, slot).
template <class Fragment, class F>
WF_DEVICE void map(Fragment& a, Extent extent, F&& f) {
  for_slots<typename Fragment::Layout>(extent, [&](int slot) {
    map_row(a, slot, extent, [&](auto element) { return f(element, slot); });
  });
}

/// element = f(element, column of its first value) for those of one row slot.
template <class Fragment, class F>
WF_DEVICE void map_row_columns(Fragment& a, int slot, Extent extent, int lane, F&& f) {
  using L = typename Fragment::Layout;
  WF_UNROLL
  for (int j = 0; j < L::active_per_slot(extent.cols); ++j) {
    auto& element = a.e[L::index(slot, j)];
    element = f(element, L::col(lane, j));
  }
}

/// element = f(element, slot, column of its first value).
template <class Fragment, class F>
WF_DEVICE void map_columns(Fragment& a, Extent extent, int lane, F&& f) {
  for_slots<typename Fragment::Layout>(extent, [&](int slot) {
    map_row_columns(a, slot, extent, lane,
                    [&](auto element, int column) { return f(element, slot, column); });
  });
}

/// Calls f(element, slot, column of its first value) and changes nothing.
template <class Fragment, class F>
WF_DEVICE void visit_columns(const Fragment& a, Extent extent, int lane, F&& f) {
  using L = typename Fragment::Layout;
  WF_UNROLL
  for (int slot = 0; slot < L::active_slots(extent.rows); ++slot) {
    WF_UNROLL
    for (int j = 0; j < L::active_per_slot(extent.cols); ++j) {
      f(a.e[L::index(slot, j)], slot, L::col(lane, j));
    }
  }
}

/// Folds a lane's elements of one row slot with `fold`.
template <class Fragment, class Fold>
WF_DEVICE auto fold_row(const Fragment& a, int slot, Extent extent, Fold&& fold) {
  using L = typename Fragment::Layout;
  auto partial = a.e[L::index(slot, 0)];
  WF_UNROLL
  for (int j = 1; j < L::active_per_slot(extent.cols); ++j) {
    partial = fold(partial, a.e[L::index(slot, j)]);
  }
  return partial;
}

/// Joins the values of the team's lanes that share a row. `Wave` has shuffle_xor(float, mask).
template <class Wave, class L, class Join>
WF_DEVICE float join_row(float row, Join&& join) {
  WF_UNROLL
  for (int i = 0; i < L::reduce_count; ++i) {
    row = join(row, Wave::shuffle_xor(row, L::reduce_mask(i)));
  }
  return row;
}

/// The larger one, as the wave's machine finds it best.
template <class Wave, class E>
WF_DEVICE E larger(E x, E y) {
  if constexpr (requires { Wave::max(x, y); }) return Wave::max(x, y);
  return max(x, y);
}

/// In two chains, whose instructions do not wait for each other.
template <class Wave, class Fragment>
WF_DEVICE float row_max(const Fragment& a, int slot, Extent extent) {
  using E = typename Fragment::Element;
  using L = typename Fragment::Layout;
  const int count = L::active_per_slot(extent.cols);
  E partial = a.e[L::index(slot, 0)];
  E other = partial;
  WF_UNROLL
  for (int j = 1; j + 1 < count; j += 2) {
    partial = larger<Wave>(partial, a.e[L::index(slot, j)]);
    other = larger<Wave>(other, a.e[L::index(slot, j + 1)]);
  }
  if (count % 2 == 0) partial = larger<Wave>(partial, a.e[L::index(slot, count - 1)]);
  partial = larger<Wave>(partial, other);
  return join_row<Wave, typename Fragment::Layout>(
      reduce_max(partial), [](float x, float y) { return larger<Wave>(x, y); });
}

/// A lane's share of the sum of a row; `row_total` makes it the sum.
template <class Fragment>
WF_DEVICE auto row_partial_sum(const Fragment& a, int slot, Extent extent) {
  using E = typename Fragment::Element;
  return fold_row(a, slot, extent, [](E x, E y) { return x + y; });
}
/// Every lane of the team takes part.
template <class Wave, class Element, class Layout>
WF_DEVICE float row_total(const RowPartials<Element, Layout>& a, int slot) {
  return join_row<Wave, Layout>(reduce_add(a.e[slot]), [](float x, float y) { return x + y; });
}

WF_NAMESPACE_END
