// Products of a handful of left rows with bf16 KV rows where they lie, as sums of pairs (direct.h
// has those in float32): nothing is converted, and a line of K or V is read once for up to eight
// rows.
#pragma once

#include "tile/cpu/direct.h"
#include "tile/cpu/pairs.h"

WF_NAMESPACE_BEGIN(tile)

/// Element k of a row of pairs: the lower half of its word, or the upper one.
WF_DEVICE float pair_element(const u32* row, int k) {
  const u32 word = row[k / 2];
  return from_bits(static_cast<i32>(k % 2 == 0 ? word << 16 : word & 0xffff0000u));
}

WF_DEVICE void prefetch_row(const void* row, int bytes) {
  for (int i = 0; i < bytes; i += cache_line) {
    __builtin_prefetch(static_cast<const char*>(row) + i, 0, 2);
  }
}

/// c[r][key] = a[r] . b[key] for `rows` rows and `vec_width` keys that lie anywhere. Rows have
/// `words` pairs, a multiple of the vector width.
template <int rows>
WF_DEVICE void dot_pair_rows(const u32* a, int a_stride, const void* const* b,
                             const void* const* next, int words, float* c, int c_stride) {
  using T = ElementTraits<Vec>;
  constexpr int pass = power_of_two_up_to(vec_width / rows);  // keys whose sums fill a block
  for (int first = 0; first < vec_width; first += pass) {
    Vec sum[vec_width];
#pragma GCC unroll 16
    for (int i = 0; i < vec_width; ++i) sum[i] = T::splat(0.f);
    for (int k = 0; k < words; k += vec_width) {
      IVec left[rows];
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) left[r] = load_words(a + r * a_stride + k);
#pragma GCC unroll 16
      for (int key = 0; key < pass; ++key) {
        if (next != nullptr) prefetch_part<cache_line>(next[first + key], i64{k} * 4);
        const IVec right = load_words(static_cast<const u32*>(b[first + key]) + k);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
          sum[r * pass + key] = dot_pairs(left[r], right, sum[r * pass + key]);
        }
      }
    }
    alignas(64) float total[vec_width];
    T::store(total, reduce_add_each(sum));
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      __builtin_memcpy(c + r * c_stride + first, total + r * pass, pass * sizeof(float));
    }
  }
}

/// c[rows][vectors] += a[rows][depth] b[depth], rows of b anywhere, from byte `offset` of each on.
/// `vectors` is even.
template <int rows, int vectors>
WF_DEVICE void add_weighted_pairs(const u32* a, int a_stride, const void* const* b, i64 offset,
                                  int depth, float* c, int c_stride) {
  using T = ElementTraits<Vec>;
  Vec sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) sum[r][j] = T::load(c + r * c_stride + j * vec_width);
  }
  constexpr int line = 2 * vec_width * 2;  // bytes of two vectors of bf16
  const auto words = [&](int k, int j) {
    return load_words(static_cast<const u8*>(b[k]) + offset + j / 2 * line);
  };
  const auto add = [&](int pair, int j, IVec first, IVec second) {
    pair_rows(first, second);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const IVec left = T::splat_int(static_cast<i32>(a[r * a_stride + pair]));
      sum[r][j] = dot_pairs(left, first, sum[r][j]);
      sum[r][j + 1] = dot_pairs(left, second, sum[r][j + 1]);
    }
  };
  int k = 0;
  for (; k + 2 <= depth; k += 2) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; j += 2) add(k / 2, j, words(k, j), words(k + 1, j));
  }
  if (k < depth) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; j += 2) add(k / 2, j, words(k, j), T::splat_int(0));
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) T::store(c + r * c_stride + j * vec_width, sum[r][j]);
  }
}

/// The same for `columns` columns, as many at a time as there are registers for; c and the rows of
/// b have room for whole lines. Eight keys at a time: their lines, and the translations of their
/// addresses, stay at hand for all columns, and rows are asked for whole, as memory likes it.
template <int rows>
WF_DEVICE void weighted_pair_block(float* c, int c_stride, const u32* a, int a_stride,
                                   const void* const* b, const void* const* next, int columns,
                                   int depth) {
  constexpr int wide = rows == 1 ? 8 : power_of_two_up_to(vec_width / rows);
  constexpr int keys = 8;
  for (int k = 0; k < depth; k += keys) {
    const int count = min(keys, depth - k);
    for (int i = 0; next != nullptr && i < count; ++i) prefetch_row(next[k + i], columns * 2);
    const auto add = [&]<int vectors>(int column) {
      add_weighted_pairs<rows, vectors>(a + k / 2, a_stride, b + k, i64{column} * 2, count,
                                        c + column, c_stride);
    };
    int column = 0;
    if constexpr (wide > 2) {
      for (; column + wide * vec_width <= columns; column += wide * vec_width) {
        add.template operator()<wide>(column);
      }
    }
    for (; column < columns; column += 2 * vec_width) add.template operator()<2>(column);
  }
}

WF_NAMESPACE_END
