// Products of bf16 pairs, for levels whose processors sum two products a lane (`dot_pairs`). Tiles
// and operands hold 32-bit words of two neighbours along the sum.
#pragma once

#include "tile/cpu/copy.h"
#include "tile/cpu/mma.h"

WF_NAMESPACE_BEGIN(tile)

struct PairProduct {
  using Storage = u32;
  using Register = IVec;
  WF_DEVICE static IVec load(const u32* p) { return load_words(p); }
  WF_DEVICE static IVec splat(u32 a) { return ElementTraits<Vec>::splat_int(static_cast<i32>(a)); }
  WF_DEVICE static Vec multiply_add(IVec a, IVec b, Vec c) { return dot_pairs(a, b, c); }
};

/// Row after row, as pairs of columns. Columns behind the last dimension are zero up to the next
/// whole vector of pairs.
template <int rows_, int cols_>
struct alignas(64) PairRows {
  static constexpr int stride = cols_ / 2;
  static constexpr DType dtype = DType::bf16;
  static constexpr int granule = 2 * vec_width;  // columns that are read together
  u32 data[rows_][cols_ / 2];
};

/// Transposed panels: data[row / panel][column pair][row % panel].
template <int rows_, int cols_>
struct alignas(64) PairPanelTile {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int panel = block_vectors * vec_width;
  u32 data[rows / panel][cols / 2][panel];
};

/// Pairs of rows: data[row / 2][column].
template <int rows_, int cols_>
struct alignas(64) PairRowTile {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  u32 data[rows / 2][cols];
};

/// float32 values to bf16, nearest even, two a word; zeros up to a whole vector of words.
WF_DEVICE void narrow_to_pairs(u32* to, const float* from, int size) {
  int d = 0;
  for (; d < size; d += vec_width) store_bf16(to + d / 2, ElementTraits<Vec>::load(from + d));
  if (d % (2 * vec_width) != 0) store_bf16(to + d / 2, ElementTraits<Vec>::splat(0.f));
}

/// Row first + i of a bf16 source as words; zero up to a whole vector of words.
template <int cols, class Source, class Transform>
WF_DEVICE void load_pairs(u32 (*to)[cols / 2], const Source& source, i32 first, i32 count,
                          bool transforms, Transform&& transform) {
  const int dims = source.columns();
  alignas(64) float row[1][cols];
  for (i32 i = 0; i < count; ++i) {
    widen_rows<DType::bf16>(row, source, first + i, 1);
    if (transforms) transform(row[0], first + i);
    narrow_to_pairs(to[i], row[0], round_up_to_vector(dims));
  }
}

template <int rows, int cols, class Source, class Transform>
inline void stage_rows(PairRows<rows, cols>& tile, const Source& source, i32 first, i32 count,
                       bool transforms, Transform&& transform) {
  load_pairs<cols>(tile.data, source, first, count, transforms, transform);
  for (int i = count; i < round_up_to_vector(count); ++i) {
    for (u32& word : tile.data[i]) word = 0;
  }
}

template <int rows, int cols, class Source, class Transform>
inline void stage_rows(PairPanelTile<rows, cols>& tile, const Source& source, i32 first, i32 count,
                       bool transforms, Transform&& transform) {
  constexpr int panel = PairPanelTile<rows, cols>::panel;
  const int dims = source.columns();
  alignas(64) u32 strip[vec_width][cols / 2] = {};
  for (int begin = 0; begin < round_up_to_panel<panel>(count); begin += vec_width) {
    const i32 valid = max(0, min(vec_width, count - begin));
    load_pairs<cols>(strip, source, first + begin, valid, transforms, transform);
    for (int i = valid; i < vec_width; ++i) {
      for (u32& word : strip[i]) word = 0;
    }
    u32* to = &tile.data[begin / panel][0][begin % panel];
    for (int d = 0; d < dims / 2; d += vec_width) {
      Vec block[vec_width];
#pragma GCC unroll 16
      for (int i = 0; i < vec_width; ++i) block[i] = from_bits(load_words(&strip[i][d]));
      transpose(block);
#pragma GCC unroll 16
      for (int i = 0; i < vec_width; ++i) store_words(to + (d + i) * panel, to_bits(block[i]));
    }
  }
}

template <int rows, int cols, class Source, class Transform>
inline void stage_rows(PairRowTile<rows, cols>& tile, const Source& source, i32 first, i32 count,
                       bool transforms, Transform&& transform) {
  const int dims = source.dims[0];
  alignas(64) u32 strip[2][cols / 2] = {};
  for (i32 row = 0; row < count; row += 2) {
    load_pairs<cols>(strip, source, first + row, min(2, count - row), transforms, transform);
    if (row + 1 == count) {
      for (u32& word : strip[1]) word = 0;
    }
    for (int d = 0; d < dims; d += vec_width) {
      const IVec upper = load_halves(&strip[0][d / 2]);
      const IVec lower = load_halves(&strip[1][d / 2]);
      store_words(&tile.data[row / 2][d], upper | (lower << 16));
    }
  }
}

WF_NAMESPACE_END
