// A group of lanes that takes one long row together, and what they tell each other. The lanes are
// those of one block or, where blocks can write to each other's shared memory, of several
// (tile/sm90/cluster.h). Sums are in a fixed order, the same at each run. Include the rows.h of an
// architecture before.
#pragma once

#include "tile/row_values.h"

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

/// Whom a message reaches.
enum class Reach : unsigned char { block, group };

/// What the warps of a block keep of a row, in halves of elements: lanes that load them together
/// meet no bank twice.
template <int steps, int warps>
struct KeptValues {
  Words values[warps][steps][2][Warp::warp_lanes];
};
template <int warps>
struct KeptValues<0, warps> {};

template <class Group>
class RowBins;

template <int lanes_, int kept_, class Blocks_>
class RowGroup : public Warp {
 public:
  using Blocks = Blocks_;
  static constexpr int lanes = lanes_;  // of a block
  static constexpr int blocks = Blocks::count;
  static constexpr int kept = kept_;  // steps whose values stay in shared memory; 0: read again
  static constexpr int warps = lanes / warp_lanes;  // of a block
  static constexpr int width = 8;
  static constexpr int batch = lanes > 256 ? 2 : 4;  // elements that a lane has registers for
  using Element = Floats<width>;
  static constexpr int bins = 8;
  static constexpr int list_size = (blocks <= 2 ? 16 : 8) * warp_lanes;  // of a warp's values
  static constexpr int most_listed = blocks * warps * list_size;
  static constexpr int gathered_size = most_listed < 8192 ? most_listed : 8192;  // of the group's
  static constexpr int sample_bins = 1024;
  static constexpr int sampled = 8192 / (lanes * width);  // elements of a lane
  using Bins = RowBins<RowGroup>;
  static constexpr int most_pieces = kept > 0 ? kept / batch : RowPieces<RowGroup>::most;

 private:
  static constexpr int message_bytes = 48;
  static_assert(warps >= blocks && warps <= warp_lanes && kept % batch == 0);

 public:
  /// They alternate between two places: a lane that still reads one does not meet the next.
  struct Messages {
    alignas(16) u8 warp[2][warps][message_bytes];
    alignas(16) u8 block[2][blocks][message_bytes];
    /// Of all pieces, in the order of the row.
    double masses[most_pieces * blocks * warps];
  };
  struct Memory : Messages, KeptValues<kept, warps> {};
  struct SearchMemory : Memory {
    double sums[2][blocks][bins];
    double columns[warps][bins][warp_lanes];  // a lane adds to its own: no two meet
    double above[warps][most_pieces];         // the mass above the listed values, of a piece
    i32 ends[warps][most_pieces];             // where those of a piece end
    float listed[warps][list_size];
    alignas(16) float last[warp_lanes];
    union {
      float gathered[gathered_size];
      u32 sample[sample_bins];
    };
  };

  WF_DEVICE explicit RowGroup(Memory& memory) : memory_(memory) { Blocks::arrive(); }

  WF_DEVICE static i64 row() { return isa::block() / blocks; }
  WF_DEVICE static int block_rank() { return Blocks::rank(); }
  /// One lane of all.
  WF_DEVICE static bool leads() { return Blocks::rank() == 0 && isa::thread() == 0; }
  /// Once, before the first message: all blocks are there.
  WF_DEVICE static void meet() { Blocks::wait(); }
  template <Reach reach = Reach::group>
  WF_DEVICE static void sync() {
    if constexpr (reach == Reach::group) {
      Blocks::template sync<lanes>();
    } else {
      isa::barrier<0, lanes>();
    }
  }
  /// Calls f(rank) for the blocks that a message reaches.
  template <Reach reach, class F>
  WF_DEVICE static void for_blocks(F&& f) {
    if constexpr (reach == Reach::group) {
      WF_UNROLL
      for (int i = 0; i < blocks; ++i) f(i);
    } else {
      f(Blocks::rank());
    }
  }

  /// To 22 bits; below the smallest normal number 0.
  WF_DEVICE static Element exp2(Element a) {
    return map_several<float>([](float x) { return isa::exp2(x); }, a);
  }

  // ---- the row

  template <class Map>
  WF_DEVICE RowValues<RowGroup, Map> values(const RowSource& source, Map map) const {
    return {source, map, memory_};
  }

  /// Writes step i of a batch of the row that begins at `data`.
  template <class Batch>
  WF_DEVICE static void store(void* data, DType dtype, const Batch& batch, int i, Element v) {
    const int count = batch.count(i);
    const i64 column = batch.column(i);
    with_output_dtype(dtype, [&]<DType out>() {
      if (batch.is_whole(i) && reinterpret_cast<u64>(data) % 16 == 0) {
        return TeamRows<32, true, 0>::template store<out>(data, column, Batch::width, v);
      }
      WF_UNROLL
      for (int e = 0; e < Batch::width; ++e) {
        if (e < count) {
          TeamRows<32, false, 0>::template store<out>(data, column + e, 1, Floats<1>{{v.e[e]}});
        }
      }
    });
  }

  // ---- what all lanes learn

  /// join of all lanes' values. `warp_part` and `block_part` are those of this message until the
  /// next but one. (Before a message to all blocks, each must have had as many as the others.)
  template <Reach reach = Reach::group, class T, class Join>
  WF_DEVICE T reduce(T mine, Join join) {
    static_assert(sizeof(T) <= message_bytes && alignof(T) <= 16);
    parity_ ^= 1;
    mine = join_warp(mine, join);
    if (lane() == 0) *reinterpret_cast<T*>(memory_.warp[parity_][warp()]) = mine;
    isa::barrier<0, lanes>();
    if constexpr (reach == Reach::block || blocks == 1) {
      return join_parts<warps, T>([&](int i) { return warp_part<T>(i); }, join);
    } else {
      if (isa::thread() < blocks) {
        const T sum = join_parts<warps, T>([&](int i) { return warp_part<T>(i); }, join);
        Blocks::store(reinterpret_cast<T*>(memory_.block[parity_][Blocks::rank()]), isa::thread(),
                      sum);
      }
      sync();
      return join_parts<blocks, T>([&](int i) { return block_part<T>(i); }, join);
    }
  }
  template <class T>
  WF_DEVICE const T& warp_part(int i) const {
    return *reinterpret_cast<const T*>(memory_.warp[parity_][i]);
  }
  /// (Of several blocks.)
  template <class T>
  WF_DEVICE const T& block_part(int i) const {
    return *reinterpret_cast<const T*>(memory_.block[parity_][i]);
  }
  /// The sum of count(part) of the last message's parts from warps, and blocks, before this one.
  template <Reach reach, class T, class Count>
  WF_DEVICE int count_before_warp(Count&& count) const {
    int sum = lane() < warp() ? count(warp_part<T>(lane())) : 0;
    if constexpr (reach == Reach::group && blocks > 1) {
      if (lane() < Blocks::rank()) sum += count(block_part<T>(lane()));
    }
    return sum_of_warp(sum);
  }

  /// What the warp's piece weighs, seen by all blocks behind `sync`.
  WF_DEVICE void tell_mass(int piece, double mass) const {
    if (lane() < blocks) {
      const int at = (piece * blocks + Blocks::rank()) * warps + warp();
      Blocks::store(&memory_.masses[at], lane(), mass);
    }
  }
  WF_DEVICE const double* masses() const { return memory_.masses; }

 private:
  template <int count, class T, class Part, class Join>
  WF_DEVICE static T join_parts(Part&& part, Join join) {
    T sum = part(0);
    WF_UNROLL
    for (int i = 1; i < count; ++i) sum = join(sum, part(i));
    return sum;
  }

  Memory& memory_;
  int parity_ = 0;
};

/// Sums of what lanes add to bins.
template <class Group>
class RowBins {
  using Memory = typename Group::SearchMemory;

 public:
  WF_DEVICE explicit RowBins(Memory& memory) : memory_(memory) {
    WF_UNROLL
    for (auto& column : memory_.columns[Group::warp()]) column[Group::lane()] = 0;
  }
  WF_DEVICE void add(int bin, double amount) {
    memory_.columns[Group::warp()][bin][Group::lane()] += amount;
  }
  /// The sum of all lanes in bin lane(), 0 if there is none. The bins start anew.
  template <Reach reach>
  WF_DEVICE double take() {
    parity_ ^= 1;
    isa::barrier<0, Group::lanes>();
    WF_UNROLL
    for (int first = 0; first < Group::bins; first += Group::warps) {
      const int bin = first + Group::warp();
      if (bin >= Group::bins) continue;
      double sum = 0;
      WF_UNROLL
      for (int i = 0; i < Group::warps; ++i) {
        double& column = memory_.columns[i][bin][Group::lane()];
        sum += column;
        column = 0;
      }
      sum = Group::sum_of_warp(sum);
      double& own = memory_.sums[parity_][Group::block_rank()][bin];
      if constexpr (reach == Reach::block) {
        if (Group::lane() == 0) own = sum;
      } else {
        if (Group::lane() < Group::blocks) Group::Blocks::store(&own, Group::lane(), sum);
      }
    }
    Group::template sync<reach>();
    double sum = 0;
    if (Group::lane() >= Group::bins) return sum;
    Group::template for_blocks<reach>(
        [&](int i) { sum += memory_.sums[parity_][i][Group::lane()]; });
    return sum;
  }

 private:
  Memory& memory_;
  int parity_ = 0;
};

WF_NAMESPACE_END
