// Attention in float32 on NVIDIA GPUs: one warp, no matrix units, whose float32 has ten bits. For
// what is seldom asked for: float32 tensors, types that are mixed, RoPE inside of attention, heads
// wider than 256. Tiles are widened as they are loaded, so that one kernel takes all types.
#pragma once

#include "math/exp2.h"
#include "math/log2.h"
#include "math/tanh.h"
#include "tile/fragment.h"
#include "tile/sm80/grid.h"

WF_NAMESPACE_BEGIN(tile)

/// Rows of float32, one chunk apart in the banks.
template <int rows_, int cols_>
struct alignas(16) FloatTile {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static constexpr int stride = cols + 4;
  float values[rows * stride];

  WF_DEVICE float* row(int i) { return values + i * stride; }
  WF_DEVICE const float* row(int i) const { return values + i * stride; }
};

/// Four neighbouring elements; `p` is a multiple of their size.
WF_DEVICE Floats<4> load_4(DType dtype, const void* p) {
  Floats<4> r;
  const auto each = [&]<class Word>(const Word* words, auto&& value) {
    struct alignas(4 * sizeof(Word)) Four {
      Word word[4];
    };
    const Four four = *reinterpret_cast<const Four*>(words);
    WF_UNROLL
    for (int i = 0; i < 4; ++i) r.e[i] = value(four.word[i]);
  };
  const auto from_float8 = [&]<DType float8>() {
    each(static_cast<const u8*>(p), [](u8 x) { return decode_float8<float, float8>(x); });
  };
  switch (dtype) {
    case DType::f32: each(static_cast<const float*>(p), [](float x) { return x; }); break;
    case DType::f16:
      each(static_cast<const u16*>(p), [](u16 x) { return isa::unpack<DType::f16>(x, 0); });
      break;
    case DType::bf16:
      each(static_cast<const u16*>(p), [](u16 x) { return isa::unpack<DType::bf16>(x, 0); });
      break;
    case DType::e4m3fn: from_float8.template operator()<DType::e4m3fn>(); break;
    case DType::e5m2: from_float8.template operator()<DType::e5m2>(); break;
    case DType::e4m3fnuz: from_float8.template operator()<DType::e4m3fnuz>(); break;
    default: from_float8.template operator()<DType::e5m2fnuz>(); break;
  }
  return r;
}

/// The warp fills a tile with `count` rows of `dims` columns; rows and columns behind are zero.
template <class Tile, class Address>
WF_DEVICE void load_float_tile(Tile& tile, DType dtype, i32 count, i32 dims, Address&& address) {
  constexpr int columns = Tile::cols / 4;
  const int bytes = size_of(dtype);
  for (int place = isa::thread(); place < Tile::rows * columns; place += 32) {
    const int row = place / columns;
    const int column = place % columns * 4;
    Floats<4> values = {};
    if (row < count && column < dims) {
      values = load_4(dtype, static_cast<const char*>(address(row)) + column * bytes);
    }
    *reinterpret_cast<Floats<4>*>(tile.row(row) + column) = values;
  }
  isa::warp_barrier();
}

/// A lane transforms a row.
template <class Tile, class Transform>
WF_DEVICE void transform_rows(Tile& tile, i32 count, Transform&& transform) {
  const int row = isa::thread();
  if (row < min(count, Tile::rows)) transform(tile.row(row), row);
  isa::warp_barrier();
}

/// Queries stay in shared memory.
template <int rows_, int cols_>
struct FloatLeftOperand {
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  FloatTile<rows, cols>* tile;
};

/// Weights in the registers of the scores they were.
template <int rows, int cols>
struct FloatWeights {
  float e[rows * cols / 32];
};

/// c = a b^T.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void multiply_float_abt(Accumulator& c, const Operand& a, const Tile& b, int dims) {
  using L = typename Accumulator::Layout;
  const int lane = isa::thread_anew();
  WF_UNROLL
  for (float& x : c.e) x = 0.f;
  WF_NO_UNROLL
  for (int d = 0; d < dims; d += 4) {
    Floats<4> left[L::slots];
    WF_UNROLL
    for (int slot = 0; slot < L::slots; ++slot) {
      left[slot] = *reinterpret_cast<const Floats<4>*>(a.tile->row(L::row(lane, slot)) + d);
    }
    WF_UNROLL
    for (int j = 0; j < L::per_slot; ++j) {
      const auto right = *reinterpret_cast<const Floats<4>*>(b.row(L::col(lane, j)) + d);
      WF_UNROLL
      for (int slot = 0; slot < L::slots; ++slot) {
        float& sum = c.e[L::index(slot, j)];
        WF_UNROLL
        for (int i = 0; i < 4; ++i) sum = fma(left[slot].e[i], right.e[i], sum);
      }
    }
  }
}

/// c += a b. A key that a row does not weigh adds nothing to it, whatever it holds.
template <class Accumulator, class Scores, class Weights, class Tile>
WF_DEVICE void multiply_float_ab(Accumulator& c, const Weights& a, const Tile& b) {
  using L = typename Accumulator::Layout;
  const int lane = isa::thread_anew();
  WF_UNROLL
  for (int key = 0; key < Tile::rows; ++key) {
    const int holder = lane / 4 * 4 + key % 8 / 2;
    float weights[L::slots];
    WF_UNROLL
    for (int slot = 0; slot < L::slots; ++slot) {
      weights[slot] = isa::shuffle(a.e[Scores::index(slot, key / 8 * 2 + key % 2)], holder);
    }
    WF_UNROLL
    for (int slot = 0; slot < L::slots; ++slot) {
      const float weight = weights[slot];
      if (weight == 0.f) continue;
      WF_UNROLL
      for (int j = 0; j < L::per_slot; ++j) {
        float& sum = c.e[L::index(slot, j)];
        sum = fma(weight, b.row(key)[L::col(lane, j)], sum);
      }
    }
  }
}

struct Sm80Float : NvidiaCommon<1> {
  struct Tail {};
  static constexpr int block_threads = team_lanes;
  static constexpr bool rounds_weights = false;

  template <int rows, int cols>
  using Accumulator = Fragment<float, NvidiaAccumulatorLayout<rows, cols>>;
  template <auto config>
  using Output = Accumulator<config.tile_rows, config.head_dim_vo>;
  template <DType, int rows, int cols>
  using LeftOperand = FloatLeftOperand<rows, cols>;
  template <DType, int rows, int cols>
  using WeightOperand = FloatWeights<rows, cols>;
  template <auto config>
  using KTile = FloatTile<config.tile_kv, config.head_dim_qk>;
  template <auto config>
  using VTile = FloatTile<config.tile_kv, config.head_dim_vo>;
  template <auto config>
  using QueryTile = FloatTile<config.tile_rows, config.head_dim_qk>;
  struct NoSlot {};
  template <int>
  struct Barriers {
    WF_DEVICE NoSlot k_slot(u32) { return {}; }
    WF_DEVICE NoSlot v_slot(u32) { return {}; }
  };
  struct NoPending {
    WF_DEVICE NoPending& k() { return *this; }
    WF_DEVICE NoPending& v() { return *this; }
  };
  template <class, class, class>
  using Pending = NoPending;

  WF_DEVICE static bool computes() { return true; }
  template <class Barriers>
  WF_DEVICE static void init(Barriers&) {}
  WF_DEVICE static void begin_item(NoPending&) { team_sync(); }

  // The intrinsics of grid.h are for weights that are rounded to 16 bits.
  WF_DEVICE static float exp2(float a) { return math::exp2(a); }
  WF_DEVICE static float log2(float a) { return math::log2(a); }
  WF_DEVICE static float tanh(float a) { return math::tanh(a); }

  template <class Tile, class Source>
  WF_DEVICE static void load_begin(Tile&, NoPending&, NoSlot, const Source&, const Tail&, int, i32,
                                   i32) {}
  template <class Tile, class Source, class Transform>
  WF_DEVICE static void load_end(Tile& tile, NoPending&, NoSlot, const Source& source, i32 first,
                                 i32 count, bool transforms, Transform&& transform) {
    isa::warp_barrier();  // the tile before has been read
    load_float_tile(tile, source.dtype, count, source.columns(),
                    [&](i32 row) { return source.segment[0].address(first + row); });
    if (!transforms) return;
    transform_rows(tile, count, [&](float* values, i32 row) { transform(values, first + row); });
  }
  template <class Operand, class QueryTile, class Address, class Transform>
  WF_DEVICE static void load_left(Operand& to, QueryTile& tile, DType dtype, i32 rows, i32 dims,
                                  int, Address&& address, Transform&& transform) {
    to.tile = &tile;
    load_float_tile(tile, dtype, rows, dims, address);
    transform_rows(tile, rows, transform);
  }

  template <class Scores, class Operand, class Tile>
  WF_DEVICE static void multiply_abt_begin(Scores& c, const Operand& a, const Tile& b, Extent,
                                           int dims) {
    multiply_float_abt(c, a, b, dims);
  }
  template <class Output, class Weights, class Tile>
  WF_DEVICE static void multiply_ab_begin(Output& c, const Weights& a, const Tile& b, Extent, int) {
    multiply_float_ab<Output, NvidiaAccumulatorLayout<16, Tile::rows>>(c, a, b);
  }
  template <class Accumulator>
  WF_DEVICE static void multiply_end(Accumulator&) {}
  template <class Weights, class Scores>
  WF_DEVICE static void to_weights(Weights& weights, const Scores& scores, Extent) {
    WF_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(scores.e) / sizeof(float)); ++i) {
      weights.e[i] = scores.e[i];
    }
  }
};

WF_NAMESPACE_END
