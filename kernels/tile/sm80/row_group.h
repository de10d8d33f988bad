// A group of lanes that takes one long row together, and what they tell each other. The lanes are
// those of one block or, where blocks can write to each other's shared memory, of several
// (tile/sm90/cluster.h). Every warp has a segment of the row, in the order of the warps, so that
// what it finds in its segment stands in the order of the row.
#pragma once

#include "tile/sm80/rows.h"

WF_NAMESPACE_BEGIN(tile)

/// The blocks of a group, when there is one.
struct OneBlock {
  static constexpr int count = 1;
  WF_DEVICE static int rank() { return 0; }
  template <class T>
  WF_DEVICE static void store(T* p, int, T value) {
    *p = value;
  }
  /// For all lanes of all blocks.
  template <int lanes>
  WF_DEVICE static void sync() {
    isa::barrier<0, lanes>();
  }
  /// The two halves of a barrier between blocks.
  WF_DEVICE static void arrive() {}
  WF_DEVICE static void wait() {}
};

/// f(word) of every 32 bits of `a`: shuffles of larger types.
template <class T, class F>
WF_DEVICE T map_words(T a, F&& f) {
  struct Words {
    u32 word[sizeof(T) / 4];
  };
  Words words = __builtin_bit_cast(Words, a);
  WF_UNROLL
  for (u32& word : words.word) word = f(word);
  return __builtin_bit_cast(T, words);
}

struct RowSource {
  const void* data;
  DType dtype;
  i64 size;
  float behind;  // what stands behind the end
};

template <class Group>
class NvidiaBins;

template <int lanes_, int kept_, class Blocks_>
class NvidiaRowGroup {
 public:
  using Blocks = Blocks_;
  static constexpr int lanes = lanes_;  // of a block
  static constexpr int blocks = Blocks::count;
  static constexpr int kept = kept_;  // steps whose values stay in registers; 0: all are read again
  static constexpr int width = 8;
  static constexpr int warp_lanes = 32;
  static constexpr int warps = lanes / warp_lanes;  // of a block
  static constexpr int list_size = 512;             // of the values that a warp can list
  using Element = Floats<width>;
  using Bins = NvidiaBins<NvidiaRowGroup>;

 private:
  static constexpr int step = warp_lanes * width;  // columns of a warp
  static constexpr int message_bytes = 16;
  static constexpr int ahead = 4;  // steps that are read at a time
  static_assert(warps >= blocks && (warps & (warps - 1)) == 0 && warps <= 32);

 public:
  /// Messages alternate between two places: a lane that still reads one does not meet the next.
  struct Messages {
    alignas(16) u8 warp[2][warps][message_bytes];
    alignas(16) u8 block[2][blocks][message_bytes];
  };
  struct Memory : Messages {
    double bins[2][blocks][warp_lanes];
    double columns[warps][warp_lanes][warp_lanes];  // a lane adds to its own: no two meet
    float listed[warps][list_size];
    alignas(16) float gathered[lanes];
  };

  WF_DEVICE explicit NvidiaRowGroup(Messages& memory) : messages_(memory) { Blocks::arrive(); }

  WF_DEVICE static i64 row() { return isa::block() / blocks; }
  WF_DEVICE static int thread() { return isa::thread(); }
  WF_DEVICE static int lane() { return isa::thread() % 32; }
  WF_DEVICE static int warp() { return isa::thread() / 32; }
  /// One lane of all.
  WF_DEVICE static bool leads() { return Blocks::rank() == 0 && isa::thread() == 0; }
  /// Once, before the first message: all blocks are there.
  WF_DEVICE static void meet() { Blocks::wait(); }

  // ---- the lanes of a warp

  WF_DEVICE static void warp_sync() { isa::warp_barrier(); }
  /// Bit i: lane i has `condition`.
  WF_DEVICE static u32 ballot(bool condition) { return isa::ballot(condition); }
  WF_DEVICE static int count_of(u32 lanes_set) { return isa::count_bits(lanes_set); }
  WF_DEVICE static int count_before(u32 lanes_set) {
    return isa::count_bits(lanes_set & ((1u << lane()) - 1));
  }
  /// -1 without any.
  WF_DEVICE static int last_of(u32 lanes_set) { return isa::last_bit(lanes_set); }
  WF_DEVICE static int first_of(u32 lanes_set) {
    return isa::last_bit(lanes_set & (~lanes_set + 1));
  }
  template <class T>
  WF_DEVICE static T from_lane(T a, int lane) {
    return map_words(a, [=](u32 w) { return isa::shuffle(w, lane); });
  }
  WF_DEVICE static i64 largest_of_warp(i64 a) {
    WF_UNROLL
    for (int mask = 1; mask < 32; mask *= 2) {
      a = max(a, map_words(a, [=](u32 w) { return isa::shuffle_xor(w, mask); }));
    }
    return a;
  }
  /// Sums over the lanes up to this one, and from this one on.
  WF_DEVICE static double sum_to_lane(double a) {
    WF_UNROLL
    for (int i = 1; i < 32; i *= 2) {
      const double other = from_lane(a, max(lane() - i, 0));
      if (lane() >= i) a += other;
    }
    return a;
  }
  WF_DEVICE static double sum_from_lane(double a) {
    WF_UNROLL
    for (int i = 1; i < 32; i *= 2) {
      const double other = from_lane(a, min(lane() + i, 31));
      if (lane() + i < 32) a += other;
    }
    return a;
  }

  /// To 22 bits; below the smallest normal number 0.
  WF_DEVICE static Element exp2(Element a) {
    return map_several<float>([](float x) { return isa::exp2(x); }, a);
  }

  // ---- the row

  /// The columns of this warp, and this lane's among them.
  struct Segment {
    i64 begin;  // of the lane's first step
    i32 left;   // columns from there to the end of the warp's; less than 1: none
    i32 steps;
    WF_DEVICE explicit Segment(i64 size) {
      const i64 all = i64{blocks} * warps;
      const i64 length = (size + all * step - 1) / (all * step) * step;
      begin = (Blocks::rank() * warps + warp()) * length;
      const i32 columns = static_cast<i32>(max(min(size - begin, length), i64{0}));
      steps = (columns + step - 1) / step;
      begin += lane() * width;
      left = columns - lane() * width;
    }
    WF_DEVICE i64 column(int i) const { return begin + i * step; }
    /// How many of this lane's values in step i stand before the end, and whether all do.
    WF_DEVICE int count(int i) const { return max(0, min(width, left - i * step)); }
    /// Not count(i) == width: ptxas 13.0 answers that wrongly.
    WF_DEVICE bool is_whole(int i) const { return left - i * step >= width; }
  };
  /// Whether the lanes can keep a row of `size` values.
  static constexpr bool fits(i64 size) {
    return kept == 0 || size <= i64{kept} * step * blocks * warps;
  }

  /// Values of a row that this lane has, `width` in each of its steps. A map is applied to them
  /// when they are used or, if they are kept, once.
  template <class Map>
  class Values {
   public:
    WF_DEVICE Values(const RowSource& source, Map map)
        : segment(source.size), source_(source), map_(map) {
      if constexpr (kept > 0) {
        read_steps(0, values_);
        WF_UNROLL
        for (int i = 0; i < kept; ++i) values_[i] = map_(values_[i]);
      }
    }
    /// Calls f(i, value) for every step, in all lanes of a warp alike.
    template <class F>
    WF_DEVICE void for_steps(F&& f) const {
      if constexpr (kept > 0) {
        WF_UNROLL
        for (int i = 0; i < kept; ++i) {
          if (i < segment.steps) {
            WF_UNROLL
            for (int e = 0; e < width; ++e) isa::renew(values_[i].e[e]);
            f(i, values_[i]);
          }
        }
      } else {
        WF_NO_UNROLL
        for (int first = 0; first < segment.steps; first += ahead) {
          Element values[ahead];
          read_steps(first, values);
          WF_UNROLL
          for (int i = 0; i < ahead; ++i) {
            if (first + i < segment.steps) f(first + i, map_(values[i]));
          }
        }
      }
    }
    /// The values with another map applied to them, behind the one before.
    template <class Next>
    WF_DEVICE auto mapped(Next next) const {
      const auto both = [first = map_, next](Element a) { return next(first(a)); };
      if constexpr (kept == 0) {
        return Values<decltype(both)>(source_, both);
      } else {
        Values<Next> result(*this, next);
        return result;
      }
    }
    template <class Before>
    WF_DEVICE Values(const Values<Before>& before, Map map)
        : segment(before.segment), source_(before.source_), map_(map) {
      WF_UNROLL
      for (int i = 0; i < kept; ++i) values_[i] = map(before.values_[i]);
    }

    const Segment segment;

   private:
    template <class>
    friend class Values;

    WF_DEVICE bool aligned() const {
      return reinterpret_cast<u64>(source_.data) % 16 == 0 && source_.size % width == 0;
    }
    template <DType dtype, bool aligned>
    WF_DEVICE Element read_as(int i) const {
      using Rows = NvidiaRows<32, aligned, 0>;
      const int count = segment.count(i);
      Element v = ElementTraits<Element>::splat(source_.behind);
      if constexpr (aligned) {  // whole, or behind the end
        if (i * step < segment.left)
          v = Rows::template load<dtype>(source_.data, segment.column(i), width);
      } else {
        WF_UNROLL
        for (int e = 0; e < width; ++e) {
          if (e < count) {
            v.e[e] = Rows::template load<dtype>(source_.data, segment.column(i) + e, 1).e[0];
          }
        }
      }
      return v;
    }
    /// Steps from `first` on, all of them on their way before the first is used.
    template <int n>
    WF_DEVICE void read_steps(int first, Element (&values)[n]) const {
      with_output_dtype(source_.dtype, [&]<DType dtype>() {
        with_alignment(aligned(), [&]<bool is_aligned>() {
          WF_UNROLL
          for (int i = 0; i < n; ++i) values[i] = read_as<dtype, is_aligned>(first + i);
        });
      });
    }

    RowSource source_;
    Map map_;
    // Mutable: what a pass computes of a value must not stay in registers until the next.
    mutable Element values_[kept > 0 ? kept : 1];
  };
  template <class Map>
  WF_DEVICE static Values<Map> read(const RowSource& source, Map map) {
    return {source, map};
  }

  /// Writes step i of a row that begins at `data`.
  WF_DEVICE static void store(void* data, DType dtype, const Segment& segment, int i, Element v) {
    const int count = segment.count(i);
    const i64 column = segment.column(i);
    with_output_dtype(dtype, [&]<DType out>() {
      if (segment.is_whole(i) && reinterpret_cast<u64>(data) % 16 == 0) {
        return NvidiaRows<32, true, 0>::template store<out>(data, column, width, v);
      }
      WF_UNROLL
      for (int e = 0; e < width; ++e) {
        if (e < count) {
          NvidiaRows<32, false, 0>::template store<out>(data, column + e, 1, Floats<1>{{v.e[e]}});
        }
      }
    });
  }

  // ---- what all lanes learn

  /// join of all lanes' values, the same in each and at each run. `warp_part` and `block_part` are
  /// those of this message until the next but one.
  template <class T, class Join>
  WF_DEVICE T reduce(T mine, Join join) {
    static_assert(sizeof(T) == message_bytes);
    parity_ ^= 1;
    WF_UNROLL
    for (int mask = 1; mask < 32; mask *= 2) {
      mine = join(mine, map_words(mine, [=](u32 w) { return isa::shuffle_xor(w, mask); }));
    }
    if (lane() == 0) *reinterpret_cast<T*>(messages_.warp[parity_][warp()]) = mine;
    isa::barrier<0, lanes>();
    if (isa::thread() < blocks) {
      T sum = warp_part<T>(0);
      for (int i = 1; i < warps; ++i) sum = join(sum, warp_part<T>(i));
      Blocks::store(reinterpret_cast<T*>(messages_.block[parity_][Blocks::rank()]), isa::thread(),
                    sum);
    }
    Blocks::template sync<lanes>();
    T sum = block_part<T>(0);
    WF_UNROLL
    for (int i = 1; i < blocks; ++i) sum = join(sum, block_part<T>(i));
    return sum;
  }
  template <class T>
  WF_DEVICE const T& warp_part(int i) const {
    return *reinterpret_cast<const T*>(messages_.warp[parity_][i]);
  }
  template <class T>
  WF_DEVICE const T& block_part(int i) const {
    return *reinterpret_cast<const T*>(messages_.block[parity_][i]);
  }
  WF_DEVICE static int block_rank() { return Blocks::rank(); }
  /// `value` at `at` of every block's gathered values, as seen behind `sync`.
  WF_DEVICE static void gather(Memory& memory, int at, float value) {
    for (int i = 0; i < blocks; ++i) Blocks::store(&memory.gathered[at], i, value);
  }
  WF_DEVICE static void sync() { Blocks::template sync<lanes>(); }

 private:
  Messages& messages_;
  int parity_ = 0;
};

/// Sums of what lanes add to 32 bins.
template <class Group>
class NvidiaBins {
  using Blocks = typename Group::Blocks;
  static constexpr int warps = Group::lanes / 32;
  static constexpr int size = 32;

 public:
  WF_DEVICE explicit NvidiaBins(typename Group::Memory& memory) : memory_(memory) {
    for (int i = 0; i < size; ++i) memory_.columns[Group::warp()][i][Group::lane()] = 0;
  }
  WF_DEVICE void add(int bin, double amount) {
    memory_.columns[Group::warp()][bin][Group::lane()] += amount;
  }
  /// The sum of all lanes in bin lane(); they start anew.
  WF_DEVICE double take() {
    parity_ ^= 1;
    isa::barrier<0, Group::lanes>();
    const int warp = isa::thread() % warps, bin = isa::thread() / warps;
    double sum = 0;
    constexpr int several = 8;  // on their way at a time
    WF_UNROLL
    for (int first = 0; first < 32; first += several) {
      double v[several];
      WF_UNROLL
      for (int i = 0; i < several; ++i) {  // from different banks
        double& column = memory_.columns[warp][bin][(first + i + isa::thread()) % 32];
        v[i] = column;
        column = 0;
      }
      WF_UNROLL
      for (int i = 0; i < several; i += 2) sum += v[i] + v[i + 1];
    }
    WF_UNROLL
    for (int mask = 1; mask < warps; mask *= 2) {
      sum += map_words(sum, [=](u32 w) { return isa::shuffle_xor(w, mask); });
    }
    if (warp < Group::blocks) Blocks::store(&memory_.bins[parity_][Blocks::rank()][bin], warp, sum);
    Blocks::template sync<Group::lanes>();
    sum = 0;
    WF_UNROLL
    for (int i = 0; i < Group::blocks; ++i) sum += memory_.bins[parity_][i][Group::lane()];
    return sum;
  }

 private:
  typename Group::Memory& memory_;
  int parity_ = 0;
};

WF_NAMESPACE_END
