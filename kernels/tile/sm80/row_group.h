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
  static constexpr int kept = kept_;  // steps whose values stay in shared memory; 0: read again
  static constexpr int width = 8;
  static constexpr int warp_lanes = 32;
  static constexpr int warps = lanes / warp_lanes;  // of a block
  static constexpr int list_size = 384;             // of the values that a warp can list
  static constexpr int bins = 16;
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
  /// Halves of elements: lanes that load them together meet no bank twice.
  struct Memory : Messages {
    isa::Words values[warps][kept > 0 ? kept : 1][2][warp_lanes];
  };
  struct SearchMemory : Memory {
    double sums[2][blocks][bins];
    double columns[warps][bins][warp_lanes];  // a lane adds to its own: no two meet
    float listed[warps][list_size];
    alignas(16) float gathered[lanes];
  };

  WF_DEVICE explicit NvidiaRowGroup(Memory& memory) : memory_(memory) { Blocks::arrive(); }

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
    /// (Not count(i) == width, which ptxas 13.0 gets wrong.)
    WF_DEVICE bool is_whole(int i) const { return left - i * step >= width; }
  };
  /// Whether the lanes can keep a row of `size` values.
  static constexpr bool fits(i64 size) {
    return kept == 0 || size <= i64{kept} * step * blocks * warps;
  }

  /// Values of a row that this lane has, `width` in each of its steps. A map is applied to them
  /// when they are used or, if they are kept, once. `see(value)` is called with all of them as soon
  /// as they are there.
  template <class Map>
  class Values {
   public:
    WF_DEVICE Values(const RowSource& source, Map map, Memory& memory)
        : segment(source.size), source_(source), map_(map), memory_(memory) {}

    template <class See>
    WF_DEVICE void read(See&& see) const {
      read_steps([&](int i, const Element& v) {
        const Element mapped = map_(v);
        if constexpr (kept > 0) keep(i, mapped);
        see(mapped);
      });
    }
    /// Calls f(i, value) for every step, in all lanes of a warp alike.
    template <class F>
    WF_DEVICE void for_steps(F&& f) const {
      if constexpr (kept > 0) {
        WF_NO_UNROLL
        for (int i = 0; i < segment.steps; ++i) f(i, kept_value(i));
      } else {
        read_steps([&](int i, const Element& v) { f(i, map_(v)); });
      }
    }
    /// If `changes`, the values with another map applied to them, else as they are. These are gone
    /// if they were kept.
    template <class Next, class See>
    WF_DEVICE auto mapped(bool changes, Next next, See&& see) const {
      if constexpr (kept > 0) {
        WF_NO_UNROLL
        for (int i = 0; changes && i < segment.steps; ++i) {
          const Element v = next(kept_value(i));
          keep(i, v);
          see(v);
        }
        return *this;
      } else {
        const auto both = [first = map_, changes, next](Element a) {
          return changes ? next(first(a)) : first(a);
        };
        const Values<decltype(both)> result(source_, both, memory_);
        if (changes) result.read(see);
        return result;
      }
    }

    const Segment segment;

   private:
    WF_DEVICE Element kept_value(int i) const {
      Element v;
      const auto& halves = memory_.values[warp()][i];
      WF_UNROLL
      for (int e = 0; e < width; ++e) {
        v.e[e] = __builtin_bit_cast(float, halves[e / 4][lane()].word[e % 4]);
      }
      return v;
    }
    WF_DEVICE void keep(int i, const Element& v) const {
      WF_UNROLL
      for (int half = 0; half < 2; ++half) {
        isa::Words words;
        WF_UNROLL
        for (int e = 0; e < 4; ++e) words.word[e] = __builtin_bit_cast(u32, v.e[half * 4 + e]);
        memory_.values[warp()][i][half][lane()] = words;
      }
    }
    WF_DEVICE bool aligned() const {
      return reinterpret_cast<u64>(source_.data) % 16 == 0 && source_.size % width == 0;
    }
    template <DType dtype, bool aligned>
    WF_DEVICE Element read_as(int i) const {
      using Rows = TeamRows<32, aligned, 0>;
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
    /// Calls f(i, value) for every step; several are on their way before the first is used.
    template <class F>
    WF_DEVICE void read_steps(F&& f) const {
      WF_NO_UNROLL
      for (int first = 0; first < segment.steps; first += ahead) {
        Element values[ahead];
        with_output_dtype(source_.dtype, [&]<DType dtype>() {
          with_alignment(aligned(), [&]<bool is_aligned>() {
            WF_UNROLL
            for (int i = 0; i < ahead; ++i) values[i] = read_as<dtype, is_aligned>(first + i);
          });
        });
        WF_UNROLL
        for (int i = 0; i < ahead; ++i) {
          if (first + i < segment.steps) f(first + i, values[i]);
        }
      }
    }

    RowSource source_;
    Map map_;
    Memory& memory_;
  };
  template <class Map, class See>
  WF_DEVICE Values<Map> read(const RowSource& source, Map map, See&& see) const {
    const Values<Map> values(source, map, memory_);
    values.read(see);
    return values;
  }

  /// Writes step i of a row that begins at `data`.
  WF_DEVICE static void store(void* data, DType dtype, const Segment& segment, int i, Element v) {
    const int count = segment.count(i);
    const i64 column = segment.column(i);
    with_output_dtype(dtype, [&]<DType out>() {
      if (segment.is_whole(i) && reinterpret_cast<u64>(data) % 16 == 0) {
        return TeamRows<32, true, 0>::template store<out>(data, column, width, v);
      }
      WF_UNROLL
      for (int e = 0; e < width; ++e) {
        if (e < count) {
          TeamRows<32, false, 0>::template store<out>(data, column + e, 1, Floats<1>{{v.e[e]}});
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
    if (lane() == 0) *reinterpret_cast<T*>(memory_.warp[parity_][warp()]) = mine;
    isa::barrier<0, lanes>();
    if (isa::thread() < blocks) {
      T sum = warp_part<T>(0);
      for (int i = 1; i < warps; ++i) sum = join(sum, warp_part<T>(i));
      Blocks::store(reinterpret_cast<T*>(memory_.block[parity_][Blocks::rank()]), isa::thread(),
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
    return *reinterpret_cast<const T*>(memory_.warp[parity_][i]);
  }
  template <class T>
  WF_DEVICE const T& block_part(int i) const {
    return *reinterpret_cast<const T*>(memory_.block[parity_][i]);
  }
  WF_DEVICE static int block_rank() { return Blocks::rank(); }
  /// `value` at `at` of every block's gathered values, as seen behind `sync`.
  WF_DEVICE static void gather(SearchMemory& memory, int at, float value) {
    for (int i = 0; i < blocks; ++i) Blocks::store(&memory.gathered[at], i, value);
  }
  WF_DEVICE static void sync() { Blocks::template sync<lanes>(); }

 private:
  Memory& memory_;
  int parity_ = 0;
};

/// Sums of what lanes add to bins.
template <class Group>
class NvidiaBins {
  using Blocks = typename Group::Blocks;
  using Memory = typename Group::SearchMemory;
  static constexpr int warps = Group::warps;
  static constexpr int team = Group::lanes / Group::bins;  // lanes that sum a bin
  static constexpr int parts = team / warps;               // of those, the ones that share a warp's
  static constexpr int columns = Group::warp_lanes / parts;
  static_assert(parts >= 1 && team <= Group::warp_lanes && team >= Group::blocks);

 public:
  WF_DEVICE explicit NvidiaBins(Memory& memory) : memory_(memory) {
    for (int i = 0; i < Group::bins; ++i) memory_.columns[Group::warp()][i][Group::lane()] = 0;
  }
  WF_DEVICE void add(int bin, double amount) {
    memory_.columns[Group::warp()][bin][Group::lane()] += amount;
  }
  /// The sum of all lanes in bin lane(), 0 if there is none. The bins start anew.
  WF_DEVICE double take() {
    parity_ ^= 1;
    isa::barrier<0, Group::lanes>();
    const int member = isa::thread() % team, bin = isa::thread() / team;
    double (&own)[Group::warp_lanes] = memory_.columns[member / parts][bin];
    double v[columns];
    WF_UNROLL
    for (int i = 0; i < columns; ++i) {  // lanes from different banks
      double& column = own[member % parts * columns + (i + isa::thread()) % columns];
      v[i] = column;
      column = 0;
    }
    double sum = 0;
    WF_UNROLL
    for (int i = 0; i < columns; i += 2) sum += v[i] + v[i + 1];
    WF_UNROLL
    for (int mask = 1; mask < team; mask *= 2) {
      sum += map_words(sum, [=](u32 w) { return isa::shuffle_xor(w, mask); });
    }
    if (member < Group::blocks) {
      Blocks::store(&memory_.sums[parity_][Blocks::rank()][bin], member, sum);
    }
    Blocks::template sync<Group::lanes>();
    sum = 0;
    if (Group::lane() >= Group::bins) return sum;
    WF_UNROLL
    for (int i = 0; i < Group::blocks; ++i) sum += memory_.sums[parity_][i][Group::lane()];
    return sum;
  }

 private:
  Memory& memory_;
  int parity_ = 0;
};

WF_NAMESPACE_END
