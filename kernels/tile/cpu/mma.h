// Matrix products on a CPU. Operands lie in memory close to the core; a register block of the
// result is built up as a sum of outer products. (A handful of rows: direct.h.)
#pragma once

#include "tile/cpu/wave.h"
#include "tile/fragment.h"

WF_NAMESPACE_BEGIN(tile)

/// What a product multiplies: one float32 a lane. Levels with dot products of bf16 pairs have a
/// second kind, `PairProduct` (pairs.h).
struct FloatProduct {
  using Storage = float;
  using Register = Vec;
  WF_DEVICE static Vec load(const float* p) { return ElementTraits<Vec>::load(p); }
  WF_DEVICE static Vec splat(float a) { return ElementTraits<Vec>::splat(a); }
  WF_DEVICE static Vec multiply_add(Vec a, Vec b, Vec c) { return fma(a, b, c); }
};

/// c[rows][vectors] (+)= a[rows][depth] b[depth][vectors], strides in elements of storage.
template <class Product, int rows, int vectors, bool accumulate>
WF_DEVICE void outer_products(const typename Product::Storage* a, int a_stride,
                              const typename Product::Storage* b, int b_stride, int depth, float* c,
                              int c_stride) {
  using T = ElementTraits<Vec>;
  Vec sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) {
      sum[r][j] = accumulate ? T::load(c + r * c_stride + j * vec_width) : T::splat(0.f);
    }
  }
  for (int k = 0; k < depth; ++k) {
    typename Product::Register right[vectors];
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) right[j] = Product::load(b + k * b_stride + j * vec_width);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const auto left = Product::splat(a[r * a_stride + k]);
#pragma GCC unroll 16
      for (int j = 0; j < vectors; ++j) {
        sum[r][j] = Product::multiply_add(left, right[j], sum[r][j]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) T::store(c + r * c_stride + j * vec_width, sum[r][j]);
  }
}

/// The same for `count` rows in [1, rows] known at run time; as many columns a pass as the register
/// file holds accumulators for, so that few rows still hide the latency of the fma.
template <class Product, int rows, bool accumulate>
struct RowBlock {
  using Storage = typename Product::Storage;
  static void run(int count, const Storage* a, int a_stride, const Storage* b, int b_stride,
                  int depth, float* c, int c_stride, int vectors) {
    if (count != rows) {
      if constexpr (rows > 1) {
        RowBlock<Product, rows - 1, accumulate>::run(count, a, a_stride, b, b_stride, depth, c,
                                                     c_stride, vectors);
      }
      return;
    }
    constexpr int widest = block_accumulators / rows < 1 ? 1 : block_accumulators / rows;
    constexpr int wide = widest > 8 ? 8 : widest;
    int j = 0;
    for (; j + wide <= vectors; j += wide) {
      outer_products<Product, rows, wide, accumulate>(a, a_stride, b + j * vec_width, b_stride,
                                                      depth, c + j * vec_width, c_stride);
    }
    if constexpr (wide > 1) {
      for (; j < vectors; ++j) {
        outer_products<Product, rows, 1, accumulate>(a, a_stride, b + j * vec_width, b_stride,
                                                     depth, c + j * vec_width, c_stride);
      }
    }
  }
};

/// c[rows][vectors] (+)= a b for any number of rows, blocked so that a column panel of b stays in
/// L1 while all rows pass over it.
template <class Product, bool accumulate>
inline void multiply_panel(int rows, const typename Product::Storage* a, int a_stride,
                           const typename Product::Storage* b, int b_stride, int depth, float* c,
                           int c_stride, int vectors) {
  for (int r = 0; r < rows; r += block_rows) {
    RowBlock<Product, block_rows, accumulate>::run(min(block_rows, rows - r), a + r * a_stride,
                                                   a_stride, b, b_stride, depth, c + r * c_stride,
                                                   c_stride, vectors);
  }
}

/// Keys that a row does not see weigh zero, but zero times NaN or infinity is NaN. Rows of b that
/// hold such numbers are added to the rows of c that weigh them, and leave b (become zero).
/// `weight(r, k)` is an element of a, `values(k, j)` vector j of row k of b as float32, and
/// `clear(k)` makes that row zero.
template <class Weight, class Values, class Clear>
inline void add_non_finite_rows(float* c, int c_stride, int rows, int depth, int vectors,
                                Weight&& weight, Values&& values, Clear&& clear) {
  using T = ElementTraits<Vec>;
  for (int k = 0; k < depth; ++k) {
    Vec zeros = T::splat(0.f);  // NaN where a number is not finite
    for (int j = 0; j < vectors; ++j) zeros = fma(values(k, j), T::splat(0.f), zeros);
    if (reduce_add(zeros) == 0.f) continue;
    for (int r = 0; r < rows; ++r) {
      const float w = weight(r, k);
      if (w == 0.f) continue;
      for (int j = 0; j < vectors; ++j) {
        float* to = c + r * c_stride + j * vec_width;
        T::store(to, fma(T::splat(w), values(k, j), T::load(to)));
      }
    }
    clear(k);
  }
}

/// Calls f.template operator()<n>(first) so that the blocks [first, first + n) cover `rows`, in
/// blocks of `largest` and one smaller one.
template <int largest, class F>
WF_DEVICE void for_row_blocks(int rows, F&& f) {
  int first = 0;
  for (; first + largest <= rows; first += largest) f.template operator()<largest>(first);
  if constexpr (largest > 1) {
    if (first < rows) {
      for_row_blocks<largest - 1>(rows - first,
                                  [&]<int n>(int at) { f.template operator()<n>(first + at); });
    }
  }
}

WF_NAMESPACE_END
