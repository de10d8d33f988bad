// The values of one long row, as a group of lanes (row_group.h) reads it.
#pragma once

#include "tile/rows.h"
#include "tile/warp.h"

WF_NAMESPACE_BEGIN(tile)

struct RowSource {
  const void* data;
  DType dtype;
  i64 size;
  float behind;  // what stands behind the end
};

/// A row lies in pieces, which the warps of all blocks take in turn; what they find in a piece
/// stands in the order of the row. (One stretch a warp would leave most of the likely tokens to the
/// first: they stand early in a vocabulary.) A piece is read a batch at a time, a batch in steps of
/// one element a lane.
template <class Group>
struct RowPieces {
  static constexpr int width = 8;
  static constexpr int batch = Group::batch;              // steps that are read at a time
  static constexpr int step = Group::warp_lanes * width;  // columns
  static constexpr int most = 16;                         // pieces of a warp

  i64 size;
  i32 batches;  // of a piece
  i32 count;    // pieces of a warp

  WF_DEVICE explicit RowPieces(i64 size) : size(size) {
    constexpr i64 turn = i64{Group::blocks} * Group::warps * batch * step;
    batches = static_cast<i32>((size + turn * most - 1) / (turn * most));
    count = static_cast<i32>((size + turn * batches - 1) / (turn * batches));
  }
  WF_DEVICE i64 columns() const { return i64{batches} * batch * step; }
  /// Where this warp's piece stands among all.
  WF_DEVICE int number(int piece) const {
    return (piece * Group::blocks + Group::block_rank()) * Group::warps + Group::warp();
  }
  /// Of a piece, by its number, the column of this lane's first value.
  WF_DEVICE i64 begin(int number) const { return number * columns() + Group::lane() * width; }
};

/// A lane's values of a batch: `batch` elements, a step apart.
template <class Group>
struct RowBatch {
  using Pieces = RowPieces<Group>;
  static constexpr int steps = Pieces::batch, width = Pieces::width;
  i64 begin;  // column of the first
  i32 left;   // columns from there to the row's end; less than 1: none
  Floats<width> v[steps];

  WF_DEVICE i64 column(int i) const { return begin + i * Pieces::step; }
  /// How many values of step i stand before the end, and whether all do.
  WF_DEVICE int count(int i) const { return max(0, min(width, left - i * Pieces::step)); }
  /// (Not count(i) == width, which ptxas 13.0 gets wrong.)
  WF_DEVICE bool is_whole(int i) const { return left - i * Pieces::step >= width; }
  /// Calls f(value) for all of them, those behind the end too.
  template <class F>
  WF_DEVICE void for_values(F&& f) const {
    WF_UNROLL
    for (int i = 0; i < steps; ++i) {
      WF_UNROLL
      for (float a : v[i].e) f(a);
    }
  }
  /// Bit i of the result: the value that for_values takes as its i-th is between the two.
  WF_DEVICE u32 marks_between(float low, float high) const {
    u32 marks = 0;
    for_numbered([&]<int i>(float a) { isa::mark_between<(1u << i)>(marks, a, low, high); });
    return marks;
  }
  /// The marked ones to shared memory.
  WF_DEVICE void append_marked(float* to, u32 marks) const {
    auto address = isa::shared_address(to);
    for_numbered([&]<int i>(float a) { isa::append_marked<(1u << i)>(address, marks, a); });
  }

 private:
  static_assert(steps * width <= 32);
  template <int i = 0, class F>
  WF_DEVICE void for_numbered(F&& f) const {
    f.template operator()<i>(v[i / width].e[i % width]);
    if constexpr (i + 1 < steps * width) for_numbered<i + 1>(f);
  }
};

/// The values of a row, with a map applied to each element when it is used. They are read again at
/// each use or, if the group keeps them, from shared memory.
template <class Group, class Map>
class RowValues {
  using Element = Floats<RowPieces<Group>::width>;
  using Memory = typename Group::Memory;

 public:
  using Batch = RowBatch<Group>;

  WF_DEVICE RowValues(const RowSource& source, Map map, Memory& memory)
      : pieces(source.size), source_(source), map_(map), memory_(memory) {}

  template <class Next>
  WF_DEVICE RowValues<Group, Next> with(Next map) const {
    return {source_, map, memory_};
  }
  /// Has this lane's values brought nearer, ahead of their use.
  WF_DEVICE void prefetch() const {
    constexpr int line = 128;
    for (int piece = 0; piece < pieces.count; ++piece) {
      const i64 begin = pieces.number(piece) * pieces.columns();
      const i64 end = min(begin + pieces.columns(), source_.size) * size_of(source_.dtype);
      i64 at = begin * size_of(source_.dtype);
      for (at += Group::lane() * line; at < end; at += Group::warp_lanes * line) {
        isa::prefetch(static_cast<const u8*>(source_.data) + at);
      }
    }
  }
  /// Before the first use: reads what the group keeps.
  WF_DEVICE void fetch() const {
    if constexpr (Group::kept > 0) {
      WF_NO_UNROLL
      for (int piece = 0; piece < pieces.count; ++piece) {
        read_piece(pieces.number(piece), [&](int i, Batch& b) {
          const int step = (piece * pieces.batches + i) * Batch::steps;
          WF_UNROLL
          for (int s = 0; s < Batch::steps; ++s) keep(step + s, b.v[s]);
        });
      }
    }
  }
  /// Calls f(batch) for every batch of a piece, in all lanes of a warp alike.
  template <class F>
  WF_DEVICE void for_batches(int piece, F&& f) const {
    if constexpr (Group::kept > 0) {
      WF_NO_UNROLL
      for (int i = 0; i < pieces.batches; ++i) {
        Batch b = place(pieces.number(piece), i);
        WF_UNROLL
        for (int s = 0; s < Batch::steps; ++s) {
          b.v[s] = map_(kept_value((piece * pieces.batches + i) * Batch::steps + s));
        }
        f(b);
      }
    } else {
      for_batches_of(pieces.number(piece), f);
    }
  }
  /// The same of any piece, by its number, read again.
  template <class F>
  WF_DEVICE void for_batches_of(int number, F&& f) const {
    read_piece(number, [&](int, Batch& b) {
      WF_UNROLL
      for (Element& v : b.v) v = map_(v);
      f(b);
    });
  }
  /// The same for all pieces.
  template <class F>
  WF_DEVICE void for_batches(F&& f) const {
    WF_NO_UNROLL
    for (int piece = 0; piece < pieces.count; ++piece) for_batches(piece, f);
  }
  /// Elements from all over the row, this lane's share of `lanes` x `count` of them; the same in
  /// each block. Returns how many there are in all: fewer of a short row, and behind those what
  /// stands behind the row.
  template <int count>
  WF_DEVICE int sample(Element (&v)[count]) const {
    const i64 all = (source_.size + Batch::width - 1) / Batch::width;
    const int sampled = static_cast<int>(min(all, i64{Group::lanes * count}));
    const double stride = static_cast<double>(all) / sampled;
    WF_UNROLL
    for (int i = 0; i < count; ++i) {
      const int number = i * Group::lanes + Group::thread();
      const i64 column = static_cast<i64>(number * stride) * Batch::width;
      const i64 left = number < sampled ? source_.size - column : 0;
      v[i] = read(column, static_cast<i32>(min(left, i64{Batch::width})));
    }
    return sampled;
  }

  const RowPieces<Group> pieces;

 private:
  WF_DEVICE Batch place(int number, int i) const {
    const i64 begin = pieces.begin(number) + i64{i} * Batch::steps * RowPieces<Group>::step;
    const i64 most = Batch::steps * RowPieces<Group>::step;
    return {begin, static_cast<i32>(max(min(source_.size - begin, most), i64{0})), {}};
  }
  WF_DEVICE Element kept_value(int i) const {
    Element v;
    const auto& halves = memory_.values[Group::warp()][i];
    WF_UNROLL
    for (int e = 0; e < Batch::width; ++e) {
      v.e[e] = __builtin_bit_cast(float, halves[e / 4][Group::lane()].word[e % 4]);
    }
    return v;
  }
  WF_DEVICE void keep(int i, const Element& v) const {
    WF_UNROLL
    for (int half = 0; half < 2; ++half) {
      Words words;
      WF_UNROLL
      for (int e = 0; e < 4; ++e) words.word[e] = __builtin_bit_cast(u32, v.e[half * 4 + e]);
      memory_.values[Group::warp()][i][half][Group::lane()] = words;
    }
  }
  WF_DEVICE bool aligned() const {
    return reinterpret_cast<u64>(source_.data) % 16 == 0 && source_.size % Batch::width == 0;
  }
  template <DType dtype, bool aligned>
  WF_DEVICE Element read_as(i64 column, i32 left) const {
    using Rows = TeamRows<Group::warp_lanes, aligned, 0>;
    Element v = ElementTraits<Element>::splat(source_.behind);
    if constexpr (aligned) {  // whole, or behind the end
      if (left > 0) v = Rows::template load<dtype>(source_.data, column, Batch::width);
    } else {
      WF_UNROLL
      for (int e = 0; e < Batch::width; ++e) {
        if (e < left) v.e[e] = Rows::template load<dtype>(source_.data, column + e, 1).e[0];
      }
    }
    return v;
  }
  /// Calls f.template operator()<dtype, is_aligned>() of the source.
  template <class F>
  WF_DEVICE void with_source(F&& f) const {
    with_output_dtype(source_.dtype, [&]<DType dtype>() {
      with_alignment(aligned(),
                     [&]<bool is_aligned>() { f.template operator()<dtype, is_aligned>(); });
    });
  }
  /// The element at `column`, of which `left` values are there.
  WF_DEVICE Element read(i64 column, i32 left) const {
    Element v;
    with_source(
        [&]<DType dtype, bool is_aligned>() { v = read_as<dtype, is_aligned>(column, left); });
    return map_(v);
  }
  /// Calls f(i, batch) for every batch of a piece, without the map.
  template <class F>
  WF_DEVICE void read_piece(int number, F&& f) const {
    WF_NO_UNROLL
    for (int i = 0; i < pieces.batches; ++i) {
      Batch b = place(number, i);
      with_source([&]<DType dtype, bool is_aligned>() {
        WF_UNROLL
        for (int s = 0; s < Batch::steps; ++s) {  // all on their way before the first is used
          b.v[s] = read_as<dtype, is_aligned>(b.column(s), b.left - s * RowPieces<Group>::step);
        }
      });
      f(i, b);
    }
  }

  RowSource source_;
  Map map_;
  Memory& memory_;
};

WF_NAMESPACE_END
