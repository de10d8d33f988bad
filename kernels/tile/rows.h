// Row operations on GPUs: a team of lanes walks through a row. Each lane takes eight values at a
// time, sixteen bytes of a 16-bit type, or where rows are not aligned to that, one. Include the
// rows.h of an architecture, before the kernels that use it: its instructions (isa.h) come first.
#pragma once

#include "tile/several.h"

#include "math/exp2.h"  // behind the elements that it computes with

WF_NAMESPACE_BEGIN(math)

/// The instruction has 22 bits.
template <int bits, int n>
WF_DEVICE tile::Floats<n> exp2_short(tile::Floats<n> x) {
  static_assert(bits <= 18);
  return tile::map_several<float>([](float a) { return tile::isa::exp2(a); }, x);
}

WF_NAMESPACE_END

WF_NAMESPACE_BEGIN(tile)

template <int n>
WF_DEVICE Floats<n> reciprocal_short(Floats<n> x) {
  return map_several<float>([](float a) { return isa::reciprocal(a); }, x);
}

/// Calls `f.template operator()<dtype>()` with float32, float16 or bfloat16.
template <class F>
WF_DEVICE void with_output_dtype(DType dtype, F&& f) {
  if (dtype == DType::bf16) return f.template operator()<DType::bf16>();
  if (dtype == DType::f16) return f.template operator()<DType::f16>();
  return f.template operator()<DType::f32>();
}

/// Rows that `lanes` neighbouring threads walk through together. `aligned`: rows begin at multiples
/// of sixteen bytes and their lengths are multiples of eight values. `kept`: elements of a held row
/// that a lane keeps in registers, as many as any row has; 0: none, it is read again.
template <int lanes_, bool aligned, int kept>
struct TeamRows {
  static constexpr int lanes = lanes_;
  static constexpr int width = aligned ? 8 : 1;
  using Element = Floats<width>;
  static constexpr int pack = 1;                // elements that are worked on side by side
  static constexpr i64 stride = lanes * width;  // columns from one to the next

  WF_DEVICE static int lane() { return isa::thread() % lanes; }
  /// The block's lanes as teams that share the row's work.
  static constexpr int part_lanes = lanes < 8 ? lanes : 8;
  using Part = TeamRows<part_lanes, aligned, 0>;
  static constexpr int parts = lanes / part_lanes;
  /// A value to a lane, where computing it takes longer than loading.
  using Spread = TeamRows<lanes, false, 0>;
  WF_DEVICE static int part() { return lane() / part_lanes; }
  WF_DEVICE static void sync() {
    if constexpr (lanes > isa::warp_lanes) {
      isa::barrier<0, lanes>();
    } else {
      isa::warp_barrier();
    }
  }

  /// Calls f(column, count) for this lane's elements, all of them whole.
  template <class F>
  WF_DEVICE static void for_columns(i64 begin, i64 end, F&& f) {
    for (i64 column = begin + lane() * width; column < end; column += stride) f(column, width);
  }
  template <class F>
  WF_DEVICE static void for_columns(i64 columns, F&& f) {
    for_columns(0, columns, f);
  }
  template <class F>
  WF_DEVICE static void for_packs(i64 columns, F&& f) {
    for_columns(columns, [&](i64 column, int count) { f.template operator()<1>(column, count); });
  }

  /// A row's values, `value(column, count)`, that several passes use.
  template <class Value>
  class Held {
    using Result = decltype(static_cast<Value*>(nullptr)->operator()(i64{}, int{}));

   public:
    WF_DEVICE Held(i64 columns, Value value) : columns_(columns), value_(value) {
      WF_UNROLL
      for (int i = 0; i < kept; ++i) {  // all of them on their way before the first is used
        if (column(i) < columns_) values_[i] = value_(column(i), width);
      }
    }

    /// The sum of the row's terms; f(value, count, partial) adds some to `partial` and returns it.
    /// A lane joins blocks in double precision: in float a wide row's terms would get lost.
    template <class F>
    WF_DEVICE float sum(F&& f) const {
      const Element zero = ElementTraits<Element>::splat(0.f);
      if constexpr (kept == 0) {
        double sum = 0;
        for (i64 begin = 0; begin < columns_; begin += block) {
          Element partial = zero;
          for_columns(begin, min(begin + block, columns_),
                      [&](i64 at, int count) { partial = f(value_(at, count), count, partial); });
          sum += double{reduce_add(partial)};
        }
        return team_sum(static_cast<float>(sum));
      } else {
        Element partial = zero;
        for_each([&](i64, int count, const Result& v) { partial = f(v, count, partial); });
        return team_sum(reduce_add(partial));
      }
    }
    /// Calls f(column, count, value).
    template <class F>
    WF_DEVICE void for_each(F&& f) const {
      if constexpr (kept == 0) {
        for_columns(columns_, [&](i64 at, int count) { f(at, count, value_(at, count)); });
      } else {
        WF_UNROLL
        for (int i = 0; i < kept; ++i) {
          if (column(i) < columns_) f(column(i), width, values_[i]);
        }
      }
    }

   private:
    static constexpr i64 block = 256 * stride;

    WF_DEVICE static i64 column(int i) { return i * stride + lane() * width; }

    i64 columns_;
    Value value_;
    Result values_[kept > 0 ? kept : 1];
  };
  template <class Value>
  WF_DEVICE static Held<Value> hold(i64 columns, Value value) {
    return {columns, value};
  }

  template <DType dtype>
  WF_DEVICE static Element load(const void* row, i64 column, int) {
    const u8* p = static_cast<const u8*>(row) + column * size_of(dtype);
    Element v;
    if constexpr (!aligned) {
      v.e[0] = isa::load_as<dtype>(p, 0);
    } else {
      u32 words[width * size_of(dtype) / 4];
      WF_UNROLL
      for (int i = 0; i < width * size_of(dtype) / 16; ++i) isa::load_16(p + i * 16, words + i * 4);
      WF_UNROLL
      for (int i = 0; i < width; ++i) {
        if constexpr (dtype == DType::f32) {
          v.e[i] = __builtin_bit_cast(float, words[i]);
        } else {
          v.e[i] = isa::unpack<dtype>(words[i / 2], i % 2);
        }
      }
    }
    return v;
  }
  /// `stream`: the value is not read again soon.
  template <DType dtype, bool stream = false>
  WF_DEVICE static void store(void* row, i64 column, int, Element value) {
    u8* p = static_cast<u8*>(row) + column * size_of(dtype);
    if constexpr (!aligned) {
      isa::store_as<dtype>(p, 0, value.e[0]);
    } else {
      u32 words[width * size_of(dtype) / 4];
      WF_UNROLL
      for (int i = 0; i < width; ++i) {
        if constexpr (dtype == DType::f32) {
          words[i] = __builtin_bit_cast(u32, value.e[i]);
        } else if (i % 2 == 0) {
          words[i / 2] = isa::pack<dtype>(value.e[i], value.e[i + 1]);
        }
      }
      WF_UNROLL
      for (int i = 0; i < width * size_of(dtype) / 16; ++i) {
        isa::store_16<stream>(p + i * 16, words + i * 4);
      }
    }
  }
  /// Bytes as they are.
  WF_DEVICE static void copy(char* to, const char* from, i64 bytes, bool = false) {
    i64 copied = 0;
    if constexpr (aligned) {
      constexpr int several = 4;  // loads on their way before the first store
      for (i64 at = lane() * 16; at + 16 <= bytes; at += several * lanes * 16) {
        u32 words[several][4];
        WF_UNROLL
        for (int i = 0; i < several; ++i) {
          if (at + i * lanes * 16 + 16 <= bytes) isa::load_16(from + at + i * lanes * 16, words[i]);
        }
        WF_UNROLL
        for (int i = 0; i < several; ++i) {
          if (at + i * lanes * 16 + 16 <= bytes) {
            isa::store_16<false>(to + at + i * lanes * 16, words[i]);
          }
        }
      }
      copied = bytes / 16 * 16;
    }
    for (i64 at = copied + lane(); at < bytes; at += lanes) to[at] = from[at];
  }
  /// A step of Newton's makes the instruction's 22 bits a whole float32.
  WF_DEVICE static float reciprocal_sqrt(float a) {
    const float r = isa::reciprocal_sqrt(a);
    const float step = fma(r, fma(-a * r, r, 1.f) * 0.5f, r);
    return less(abs(step), infinity) ? step : r;  // 0 and infinity have their answers
  }
  WF_DEVICE static bool streamable(const void*) { return true; }
  WF_DEVICE static void prefetch(const void*, i64 = 1) {}  // other teams keep memory busy
  WF_DEVICE static void finish_streaming() {}

  WF_DEVICE static Element fill_behind(Element value, int, float) { return value; }  // none is

  /// The sum of the team's values in every lane, the same at each run.
  WF_DEVICE static float team_sum(float a) {
    WF_UNROLL
    for (int mask = 1; mask < min(lanes, isa::warp_lanes); mask *= 2) {
      a += isa::shuffle_xor(a, mask);
    }
    if constexpr (lanes > isa::warp_lanes) {
      WF_SHARED static float sums[lanes / isa::warp_lanes];
      if (lane() % isa::warp_lanes == 0) sums[lane() / isa::warp_lanes] = a;
      sync();
      a = 0.f;
      WF_UNROLL
      for (float sum : sums) a += sum;
      sync();  // before the sums are written again
    }
    return a;
  }
};

/// A block of teams, each of which takes one row. (With a loop over rows, what does not depend on
/// the row would be computed ahead of it and fill the registers.) A lane keeps `kept` elements.
template <int lanes, int teams_, int kept = 0>
struct RowTeams {
  static constexpr int teams = teams_;
  static constexpr int threads = lanes * teams;
  static_assert(teams == 1 || lanes <= isa::warp_lanes);
  template <bool aligned>
  using Rows = TeamRows<lanes, aligned, aligned ? kept : 0>;

  /// Whether the lanes keep a row of `width` values.
  WF_DEVICE static bool fits(i64 width) {
    return kept == 0 || width <= i64{kept} * Rows<true>::stride;
  }
  /// Calls f(row) for this team's row.
  template <class F>
  WF_DEVICE static void for_row(i64 rows, F&& f) {
    const i64 row = i64{isa::block()} * teams + isa::thread() / lanes;
    if (teams == 1 || row < rows) f(row);
  }
};

/// Calls f.template operator()<aligned>().
template <class F>
WF_DEVICE void with_alignment(bool aligned, F&& f) {
  if (aligned) return f.template operator()<true>();
  return f.template operator()<false>();
}

WF_NAMESPACE_END
