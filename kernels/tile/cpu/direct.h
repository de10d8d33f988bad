// Products of a handful of left rows with KV rows where they lie. Each element of a KV row is read
// and converted once for all left rows. Memory sets the pace, so the rows of the tile that comes
// next (`next`) are asked for line by line between the products.
#pragma once

#include "tile/cpu/shared.h"
#include "tile/fragment.h"

WF_NAMESPACE_BEGIN(tile)

// Split order: two neighbouring vectors of a storage type as the two vectors that take the least
// work to make. bf16 comes as the even and the odd elements of its 32-bit words, a shift and a
// mask; the other types come one vector after the other.

template <DType dtype>
WF_DEVICE void load_two(const u8* p, Vec& first, Vec& second) {
  if constexpr (dtype == DType::bf16) {
    const IVec words = load_words(p);
    first = from_bits(words << 16);
    second = from_bits(words & static_cast<i32>(0xffff0000u));
  } else {
    first = load_as<dtype>(p);
    second = load_as<dtype>(p + vec_width * size_of(dtype));
  }
}
template <DType dtype>
WF_DEVICE void to_split_order(Vec& first, Vec& second) {
  if constexpr (dtype == DType::bf16) deinterleave(first, second);
}
template <DType dtype>
WF_DEVICE void from_split_order(Vec& first, Vec& second) {
  if constexpr (dtype == DType::bf16) interleave(first, second);
}

/// `size` elements in the split order of `dtype`; a vector that has no partner stays as it is.
template <DType dtype>
WF_DEVICE void to_split_order(float* to, const float* from, int size) {
  using T = ElementTraits<Vec>;
  int d = 0;
  for (; d + 2 * vec_width <= size; d += 2 * vec_width) {
    Vec first = T::load(from + d), second = T::load(from + d + vec_width);
    to_split_order<dtype>(first, second);
    T::store(to + d, first);
    T::store(to + d + vec_width, second);
  }
  if (d < size) T::store(to + d, T::load(from + d));
}

/// Asks the caches for the lines that begin in bytes [offset, offset + size) of `row`.
template <int size>
WF_DEVICE void prefetch_part(const void* row, i64 offset) {
  if constexpr (size < cache_line) {
    if (offset % cache_line >= size) return;
  }
  for (int b = 0; b < size; b += cache_line) {
    __builtin_prefetch(static_cast<const char*>(row) + offset + b, 0, 2);
  }
}

/// The largest power of two up to `most`, at least 1.
constexpr int power_of_two_up_to(int most) {
  int n = 1;
  while (2 * n <= most) n *= 2;
  return n;
}

/// c[r][key] = a[r] . b[key] for `rows` rows, in split order, and `vec_width` keys that lie
/// anywhere. `depth` is a multiple of the vector width.
template <DType dtype, int rows>
WF_DEVICE void dot_products(const float* a, int a_stride, const void* const* b,
                            const void* const* next, int depth, Vec (&c)[rows]) {
  using T = ElementTraits<Vec>;
  constexpr int fit = power_of_two_up_to(block_accumulators / rows);
  constexpr int pass = fit > vec_width ? vec_width : fit;  // keys at a time
  constexpr int step = 2 * vec_width;
  Vec sum[rows][vec_width];
#pragma GCC unroll 16
  for (int first = 0; first < vec_width; first += pass) {
    Vec part[rows][pass];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
      for (int key = 0; key < pass; ++key) part[r][key] = T::splat(0.f);
    }
    int k = 0;
    for (; k + step <= depth; k += step) {
#pragma GCC unroll 16
      for (int key = 0; key < pass; ++key) {
        const i64 offset = i64{k} * size_of(dtype);
        if (next != nullptr) prefetch_part<step * size_of(dtype)>(next[first + key], offset);
        Vec even, odd;
        load_two<dtype>(static_cast<const u8*>(b[first + key]) + offset, even, odd);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
          const float* left = a + r * a_stride + k;
          part[r][key] = fma(T::load(left), even, part[r][key]);
          part[r][key] = fma(T::load(left + vec_width), odd, part[r][key]);
        }
      }
    }
    if (k < depth) {
#pragma GCC unroll 16
      for (int key = 0; key < pass; ++key) {
        const i64 offset = i64{k} * size_of(dtype);
        if (next != nullptr) prefetch_part<cache_line>(next[first + key], offset);
        const Vec right = load_as<dtype>(static_cast<const u8*>(b[first + key]) + offset);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
          part[r][key] = fma(T::load(a + r * a_stride + k), right, part[r][key]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
      for (int key = 0; key < pass; ++key) sum[r][first + key] = part[r][key];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) c[r] = reduce_add_each(sum[r]);
}

/// c[rows][vectors] += a[rows][depth] b[depth], rows of b anywhere, from byte `offset` of each on.
/// `vectors` is even or 1.
template <DType dtype, int rows, int vectors>
WF_DEVICE void add_weighted_rows(const float* a, int a_stride, const void* const* b,
                                 const void* const* next, i64 offset, int depth, float* c,
                                 int c_stride) {
  using T = ElementTraits<Vec>;
  Vec sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) sum[r][j] = T::load(c + r * c_stride + j * vec_width);
#pragma GCC unroll 16
    for (int j = 0; j + 1 < vectors; j += 2) to_split_order<dtype>(sum[r][j], sum[r][j + 1]);
  }
  for (int k = 0; k < depth; ++k) {
    const u8* row = static_cast<const u8*>(b[k]) + offset;
    if (next != nullptr) prefetch_part<vectors * vec_width * size_of(dtype)>(next[k], offset);
    Vec right[vectors];
    if constexpr (vectors == 1) {
      right[0] = load_as<dtype>(row);
    } else {
#pragma GCC unroll 16
      for (int j = 0; j < vectors; j += 2) {
        load_two<dtype>(row + j * vec_width * size_of(dtype), right[j], right[j + 1]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Vec left = T::splat(a[r * a_stride + k]);
#pragma GCC unroll 16
      for (int j = 0; j < vectors; ++j) sum[r][j] = fma(left, right[j], sum[r][j]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j + 1 < vectors; j += 2) from_split_order<dtype>(sum[r][j], sum[r][j + 1]);
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) T::store(c + r * c_stride + j * vec_width, sum[r][j]);
  }
}

WF_NAMESPACE_END
