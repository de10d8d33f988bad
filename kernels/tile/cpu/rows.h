// Row operations on a CPU: a row is walked through in vectors, the last one partly filled.
#pragma once

#include "tile/element.h"

WF_NAMESPACE_BEGIN(tile)

struct CpuRows {
  using Element = Vec;
  static constexpr int pack = 8;            // elements that are worked on side by side
  static constexpr i64 stride = vec_width;  // columns from one to the next
  // A team of lanes can divide the parts of its work; here is one lane.
  using Part = CpuRows;
  static constexpr int parts = 1;
  using Spread = CpuRows;  // nor can it spread what takes long to compute
  WF_DEVICE static int part() { return 0; }
  WF_DEVICE static void sync() {}

  /// Calls f(column, count) for parts of up to one element's width.
  template <class F>
  WF_DEVICE static void for_columns(i64 width, F&& f) {
    i64 column = 0;
    for (; column + vec_width <= width; column += vec_width) f(column, vec_width);
    if (column < width) f(column, static_cast<int>(width - column));
  }

  /// Calls f.template operator()<size>(column, count) for `size` elements that lie `stride` columns
  /// apart. `count` is less than an element's width in the last one of a row only.
  template <class F>
  WF_DEVICE static void for_packs(i64 width, F&& f) {
    i64 column = 0;
    for (; column + pack * vec_width <= width; column += pack * vec_width) {
      f.template operator()<pack>(column, vec_width);
    }
    for (; column < width; column += vec_width) {
      f.template operator()<1>(column, static_cast<int>(min(i64{vec_width}, width - column)));
    }
  }

  /// A row's values, `value(column, count)`, that several passes use: caches hold them here.
  template <class Value>
  struct Held {
    i64 width;
    Value value;

    /// The sum of the row's terms; f(value, count, partial) adds some to `partial` and returns it.
    template <class F>
    WF_DEVICE float sum(F&& f) const {
      return sum_columns(width, [&](i64 column, int count, Vec partial) {
        return f(value(column, count), count, partial);
      });
    }
    /// Calls f(column, count, value).
    template <class F>
    WF_DEVICE void for_each(F&& f) const {
      for_columns(width, [&](i64 column, int count) { f(column, count, value(column, count)); });
    }
  };
  template <class Value>
  WF_DEVICE static Held<Value> hold(i64 width, Value value) {
    return {width, value};
  }

  /// The sum of a row's terms; f(column, count, partial) adds some to `partial` and returns it.
  /// Blocks are joined in double precision: in float a wide row's terms would get lost in its sum.
  template <class F>
  WF_DEVICE static float sum_columns(i64 width, F&& f) {
    constexpr i64 block = 256 * 4 * vec_width;  // 256 terms to each of the partial sums
    double sum = 0;
    for (i64 begin = 0; begin < width; begin += block) {
      sum += double{sum_block(begin, min(begin + block, width), f)};
    }
    return static_cast<float>(sum);
  }
  /// Columns [column, end): four partial sums, since one would wait for itself.
  template <class F>
  WF_DEVICE static float sum_block(i64 column, i64 end, F& f) {
    const Vec zero = ElementTraits<Vec>::splat(0.f);
    Vec a = zero, b = zero, c = zero, d = zero;
    for (; column + 4 * vec_width <= end; column += 4 * vec_width) {
      a = f(column, vec_width, a);
      b = f(column + vec_width, vec_width, b);
      c = f(column + 2 * vec_width, vec_width, c);
      d = f(column + 3 * vec_width, vec_width, d);
    }
    for (; column + vec_width <= end; column += vec_width) a = f(column, vec_width, a);
    if (column < end) b = f(column, static_cast<int>(end - column), b);
    return reduce_add((a + b) + (c + d));
  }

  /// `count` values from `column` on; the rest of the element is zero.
  template <DType dtype>
  WF_DEVICE static Vec load(const void* row, i64 column, int count) {
    const u8* p = static_cast<const u8*>(row) + column * size_of(dtype);
    return count == vec_width ? load_as<dtype>(p) : load_first_as<dtype>(p, count);
  }
  /// `stream`: past the caches; then `row` has to be `streamable`.
  template <DType dtype, bool stream = false>
  WF_DEVICE static void store(void* row, i64 column, int count, Vec value) {
    u8* p = static_cast<u8*>(row) + column * size_of(dtype);
    if (count != vec_width) {
      store_first_as<dtype>(p, value, count);
    } else if constexpr (stream) {
      stream_as<dtype>(p, value);
    } else {
      store_as<dtype>(p, value);
    }
  }
  /// Bytes as they are; streamed where `to` allows it.
  WF_DEVICE static void copy(char* to, const char* from, i64 bytes, bool stream = false) {
    i64 at = 0;
    if constexpr (vec_width > 1) {
      constexpr i64 size = vec_width * i64{sizeof(float)};
      const auto load = [&] {
        return ElementTraits<Vec>::load(reinterpret_cast<const float*>(from + at));
      };
      if (stream && streamable(to)) {
        for (; at + size <= bytes; at += size) stream_f32(to + at, load());
      }
      for (; at + size <= bytes; at += size) {
        ElementTraits<Vec>::store(reinterpret_cast<float*>(to + at), load());
      }
    }
    if (at < bytes) __builtin_memcpy(to + at, from + at, static_cast<u64>(bytes - at));
  }
  WF_DEVICE static float reciprocal_sqrt(float a) { return 1.f / sqrt(a); }
  WF_DEVICE static bool streamable(const void* row) {
    return (reinterpret_cast<__UINTPTR_TYPE__>(row) & 63) == 0;
  }
  WF_DEVICE static void prefetch(const void* p, i64 bytes = 1) {
    for (i64 i = 0; i < bytes; i += 64) __builtin_prefetch(static_cast<const u8*>(p) + i);
  }
  /// Orders streamed rows before what follows.
  WF_DEVICE static void finish_streaming() { stream_fence(); }

  /// The values with those behind `count` replaced by `fill`.
  WF_DEVICE static Vec fill_behind(Vec value, int count, float fill) {
    if (count == vec_width) return value;
    return select(lanes_from_bits((1u << count) - 1), value, ElementTraits<Vec>::splat(fill));
  }
};

WF_NAMESPACE_END
