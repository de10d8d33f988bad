// Moving rows between storage and staged tiles on a CPU. `begin` asks the caches for the bytes,
// `end` converts them. A `Source` has up to two column segments, each with for_rows (pages.h).
#pragma once

#include "tile/cpu/shared.h"

WF_NAMESPACE_BEGIN(tile)

template <class Source>
WF_DEVICE void prefetch_rows(const Source& source, i32 first, i32 count) {
  for (int s = 0; s < source.segments; ++s) {
    const i64 bytes = i64{source.dims[s]} * size_of(source.dtype);
    source.segment[s].for_rows(first, count, [&](i32, const void* row) {
      const char* line = static_cast<const char*>(row);
      for (i64 b = 0; b < bytes; b += cache_line) __builtin_prefetch(line + b, 0, 2);
    });
  }
}

/// Row first + i of the source to to[i], as float32, zero up to a whole vector.
template <DType dtype, int stride, class Source>
WF_DEVICE void widen_rows(float (*to)[stride], const Source& source, i32 first, i32 count) {
  int column = 0;
  for (int s = 0; s < source.segments; ++s) {
    const int dims = source.dims[s];
    source.segment[s].for_rows(
        first, count, [&](i32 i, const void* row) { widen_row<dtype>(to[i] + column, row, dims); });
    column += dims;
  }
  for (i32 i = 0; i < count; ++i) pad_row(to[i], column);
}

template <int rows, int cols, class Source, class Transform>
inline void stage_rows(RowTile<rows, cols>& tile, const Source& source, i32 first, i32 count,
                       bool transforms, Transform&& transform) {
  with_float_dtype(source.dtype,
                   [&]<DType dtype>() { widen_rows<dtype>(tile.data, source, first, count); });
  for (int i = 0; transforms && i < count; ++i) transform(tile.data[i], first + i);
  // A product reads whole vectors of rows: those behind the end must be numbers.
  for (int i = count; i < round_up_to_vector(count); ++i) {
    for (float& value : tile.data[i]) value = 0.f;
  }
}

/// The rows that will be placed next: the products with the present ones ask for them.
template <int rows, int cols, class Source>
WF_DEVICE void note_next_rows(DirectTile<rows, cols>& tile, const Source& source, i32 first,
                              i32 count) {
  tile.next_count = max(count, 0);
  source.segment[0].for_rows(first, count, [&](i32 i, const void* row) { tile.next[i] = row; });
}

template <int rows, int cols, class Source, class Transform>
inline void stage_rows(DirectTile<rows, cols>& tile, const Source& source, i32 first, i32 count,
                       bool transforms, Transform&& transform) {
  const int padded = round_up_to_vector(count);
  const bool whole_vectors = source.dims[0] % vec_width == 0;
  if (transforms || source.segments > 1 || !whole_vectors) {
    if (tile.next_count > 0) prefetch_rows(source, first + count, tile.next_count);
    stage_rows(tile.staged, source, first, count, transforms, transform);
    for (int i = 0; i < padded; ++i) tile.row[i] = tile.next[i] = tile.staged.data[i];
    tile.dtype = DType::f32;
    return;
  }
  source.segment[0].for_rows(first, count, [&](i32 i, const void* row) { tile.row[i] = row; });
  // A product reads whole vectors of rows: behind the end it reads the last one again.
  for (int i = count; i < padded; ++i) tile.row[i] = tile.row[count - 1];
  for (int i = tile.next_count; i < padded; ++i) tile.next[i] = tile.row[i];
  tile.dtype = source.dtype;
}

template <int rows, int cols, class Source, class Transform>
inline void stage_rows(PanelTile<rows, cols>& tile, const Source& source, i32 first, i32 count,
                       bool transforms, Transform&& transform) {
  constexpr int panel = PanelTile<rows, cols>::panel;
  const int dims = source.columns();
  alignas(64) float strip[vec_width][cols];
  for (int begin = 0; begin < round_up_to_panel<panel>(count); begin += vec_width) {
    const i32 valid = max(0, min(vec_width, count - begin));
    with_float_dtype(source.dtype, [&]<DType dtype>() {
      widen_rows<dtype>(strip, source, first + begin, valid);
    });
    for (int i = 0; transforms && i < valid; ++i) transform(strip[i], first + begin + i);
    for (int i = valid; i < vec_width; ++i) {
      for (float& value : strip[i]) value = 0.f;
    }
    float* to = &tile.data[begin / panel][0][begin % panel];
    for (int d = 0; d < dims; d += vec_width) {
      Vec block[vec_width];
#pragma GCC unroll 16
      for (int i = 0; i < vec_width; ++i) block[i] = ElementTraits<Vec>::load(&strip[i][d]);
      transpose(block);
#pragma GCC unroll 16
      for (int i = 0; i < vec_width; ++i) ElementTraits<Vec>::store(to + (d + i) * panel, block[i]);
    }
  }
}

WF_NAMESPACE_END
