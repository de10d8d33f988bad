// The CPU as an architecture (concepts.h): one lane, vector elements, tiles in memory.
#pragma once

#include "math/exp2.h"
#include "math/log2.h"
#include "math/sincos.h"
#include "math/tanh.h"
#include "tile/cpu/copy.h"
#include "tile/cpu/direct.h"
#include "tile/cpu/mma.h"

WF_NAMESPACE_BEGIN(tile)

struct Cpu {
  using Element = Vec;
  using Wave = CpuWave;
  struct Tail {};
  using Wide = Vec;  // what a lane loads with one instruction
  static constexpr int team_lanes = 1;
  WF_DEVICE static void team_sync() {}

  template <int rows, int cols>
  using Accumulator = Fragment<Vec, RowMajorLayout<rows, cols>>;
  template <auto config>
  using Output = Accumulator<config.tile_rows, config.head_dim_vo>;

  template <DType, int rows_, int cols_>
  struct alignas(64) LeftOperand {
    static constexpr int stride = cols_;
    float data[rows_][cols_];
  };

  /// Weights are read where the softmax left them.
  template <DType, int rows_, int cols_>
  struct WeightOperand {
    const float* data;
  };

  template <auto config, bool few_rows = config.few_rows>
  struct Tiles {
    using K = PanelTile<config.tile_kv, config.head_dim_qk>;
    using V = RowTile<config.tile_kv, config.head_dim_vo>;
  };
  template <auto config>
  struct Tiles<config, true> {
    using K = DirectTile<config.tile_kv, config.head_dim_qk>;
    using V = DirectTile<config.tile_kv, config.head_dim_vo>;
  };
  template <auto config>
  using KTile = typename Tiles<config>::K;
  template <auto config>
  using VTile = typename Tiles<config>::V;
  struct NoQueryTile {};  // queries stay with the operand
  template <auto>
  using QueryTile = NoQueryTile;
  struct NoSlot {};
  struct NoPending {
    WF_DEVICE NoPending& k() { return *this; }
    WF_DEVICE NoPending& v() { return *this; }
  };
  template <int>
  struct Barriers {
    WF_DEVICE NoSlot k_slot(u32) { return {}; }
    WF_DEVICE NoSlot v_slot(u32) { return {}; }
  };
  template <class, class, class>
  using Pending = NoPending;

  WF_DEVICE static bool computes() { return true; }
  WF_DEVICE static void begin_item(NoPending&) {}

  // ---- loads

  template <class Tile, class Source>
  WF_DEVICE static void load_begin(Tile&, NoPending&, NoSlot, const Source& source, const Tail&,
                                   int, i32 first, i32 count) {
    if (count > 0) prefetch_rows(source, first, count);
  }
  template <int kv, int dims, template <int, int> class Staged, class Source>
  WF_DEVICE static void load_begin(DirectTile<kv, dims, Staged>& tile, NoPending&, NoSlot,
                                   const Source& source, const Tail&, int, i32 first, i32 count) {
    note_next_rows(tile, source, first, count);
  }
  template <class Tile, class Source, class Transform>
  WF_DEVICE static void load_end(Tile& tile, NoPending&, NoSlot, const Source& source, i32 first,
                                 i32 count, bool transforms, Transform&& transform) {
    stage_rows(tile, source, first, count, transforms, transform);
  }
  template <class Operand, class Address, class Transform>
  WF_DEVICE static void load_left(Operand& to, NoQueryTile&, DType dtype, i32 rows, i32 dims, int,
                                  Address&& address, Transform&& transform) {
    with_float_dtype(dtype, [&]<DType d>() {
      for (i32 row = 0; row < rows; ++row) widen_row<d>(to.data[row], address(row), dims);
    });
    for (i32 row = 0; row < rows; ++row) pad_row(to.data[row], dims);
    for (i32 row = 0; row < rows; ++row) transform(to.data[row], row);
  }

  // ---- products

  template <class Scores, class Operand, int kv, int dims>
  WF_DEVICE static void multiply_abt_begin(Scores& c, const Operand& a,
                                           const PanelTile<kv, dims>& b, Extent extent, int depth) {
    using Tile = PanelTile<kv, dims>;
    float* out = reinterpret_cast<float*>(c.e);
    for (int column = 0; column < extent.cols; column += Tile::panel) {
      multiply_panel<FloatProduct, false>(extent.rows, a.data[0], Operand::stride,
                                          b.data[column / Tile::panel][0], Tile::panel, depth,
                                          out + column, kv, block_vectors);
    }
  }
  template <class Scores, class Operand, int kv, int dims>
  WF_DEVICE static void multiply_abt_begin(Scores& c, const Operand& a,
                                           const DirectTile<kv, dims>& b, Extent extent,
                                           int depth) {
    tile::with_float_dtype(b.dtype, [&]<DType dtype>() {
      for_row_blocks<few_rows_block>(extent.rows, [&]<int n>(int row) {
        dot_block<dtype, n>(c, a, b, row, extent.cols, round_up_to_vector(depth));
      });
    });
  }
  template <class Output, class Weights, int kv, int dims>
  WF_DEVICE static void multiply_ab_begin(Output& c, const Weights& a,
                                          const DirectTile<kv, dims>& b, Extent extent, int depth) {
    const int vectors = Output::Layout::active_per_slot(extent.cols);
    tile::with_float_dtype(b.dtype, [&]<DType dtype>() {
      for_row_blocks<few_rows_block>(extent.rows, [&]<int n>(int row) {
        float* out = reinterpret_cast<float*>(c.e) + row * Output::Layout::cols;
        weighted_block<dtype, n>(out, Output::Layout::cols, a.data + row * kv, b,
                                 row == 0 ? b.next : nullptr, vectors, depth);
      });
    });
  }
  template <class Output, class Weights, int kv, int dims>
  WF_DEVICE static void multiply_ab_begin(Output& c, const Weights& a, const RowTile<kv, dims>& b,
                                          Extent extent, int depth) {
    float* out = reinterpret_cast<float*>(c.e);
    const int vectors = Output::Layout::active_per_slot(extent.cols);
    for (int j = 0; j < vectors; j += column_block) {
      multiply_panel<FloatProduct, true>(extent.rows, a.data, kv, b.data[0] + j * vec_width, dims,
                                         depth, out + j * vec_width, Output::Layout::cols,
                                         min(column_block, vectors - j));
    }
  }
  template <class Accumulator>
  WF_DEVICE static void multiply_end(Accumulator&) {}

  /// Before multiply_ab with weights of which some are zero because a row does not see the key.
  template <class Output, class Weights, int kv, int dims>
  static void add_non_finite(Output& c, const Weights& a, RowTile<kv, dims>& b, Extent extent,
                             int depth) {
    add_non_finite_rows(
        reinterpret_cast<float*>(c.e), Output::Layout::cols, extent.rows, depth,
        Output::Layout::active_per_slot(extent.cols),
        [&](int r, int k) { return a.data[r * kv + k]; },
        [&](int k, int j) { return ElementTraits<Vec>::load(b.data[k] + j * vec_width); },
        [&](int k) {
          for (float& value : b.data[k]) value = 0.f;
        });
  }
  template <class Output, class Weights, int kv, int dims>
  static void add_non_finite(Output& c, const Weights& a, DirectTile<kv, dims>& b, Extent extent,
                             int depth) {
    tile::with_float_dtype(b.dtype, [&]<DType dtype>() {
      add_non_finite_rows(
          reinterpret_cast<float*>(c.e), Output::Layout::cols, extent.rows, depth,
          Output::Layout::active_per_slot(extent.cols),
          [&](int r, int k) { return a.data[r * kv + k]; },
          [&](int k, int j) {
            return load_as<dtype>(static_cast<const u8*>(b.row[k]) +
                                  j * vec_width * size_of(dtype));
          },
          [&](int k) { b.clear(k); });
    });
  }

  template <class Weights, class Scores>
  WF_DEVICE static void to_weights(Weights& weights, const Scores& scores, Extent) {
    weights.data = reinterpret_cast<const float*>(scores.e);
  }

  // ---- elements

  template <class E>
  WF_DEVICE static E exp2(E a) {
    return math::exp2(a);
  }
  template <class E>
  WF_DEVICE static E tanh(E a) {
    return math::tanh(a);
  }
  template <class E>
  WF_DEVICE static void sincos_product(E a, E b, E& sine, E& cosine) {
    math::sincos_product(a, b, sine, cosine);
  }
  static constexpr bool branches_by_row = true;  // a row may skip work that others do
  static constexpr bool rounds_weights = false;  // before they are summed
  WF_DEVICE static float log2(float a) { return math::log2(a); }
  WF_DEVICE static Mask lanes_from_bits(u32 bits) { return tile::lanes_from_bits(bits); }

  // ---- results

  template <class F>
  WF_DEVICE static void with_output_dtype(DType dtype, F&& f) {
    tile::with_output_dtype(dtype, f);
  }
  /// Element `value` to columns [column, column + width) of a row with `dims` columns.
  template <DType dtype>
  WF_DEVICE static void store(char* row, int column, int dims, Vec value) {
    char* to = row + i64{column} * size_of(dtype);
    if (column + vec_width <= dims) {
      store_as<dtype>(to, value);
    } else {
      store_first_as<dtype>(to, value, dims - column);
    }
  }
  WF_DEVICE static Vec load_first(const float* row, int column, int dims) {
    if (column + vec_width <= dims) return ElementTraits<Vec>::load(row + column);
    return load_first_as<DType::f32>(row + column, dims - column);
  }
  WF_DEVICE static float load_shared_result(const float* p) { return *p; }

  /// True for the last of `parts` callers. What they wrote before is then visible.
  WF_DEVICE static bool arrive_last(i32* counter, i32 parts) {
    if (__atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL) != parts) return false;
    __atomic_store_n(counter, 0, __ATOMIC_RELAXED);
    return true;
  }

 protected:
  // Vectors of V columns that pass together: a column block of a 64-row tile stays in L1.
  static constexpr int column_block = 8;
  // Rows that share a pass over K and V as they lie.
  static constexpr int few_rows_block = 4;

 private:
  template <DType dtype, int n, class Scores, class Operand, class Tile>
  static void dot_block(Scores& c, const Operand& a, const Tile& b, int row, int keys, int depth) {
    alignas(64) float split[n][Tile::cols];
    for (int r = 0; r < n; ++r) to_split_order<dtype>(split[r], a.data[row + r], depth);
    for (int j = 0; j * vec_width < keys; ++j) {
      Vec dots[n];
      const int key = j * vec_width;
      dot_products<dtype, n>(split[0], Tile::cols, b.row + key, row == 0 ? b.next + key : nullptr,
                             depth, dots);
      for (int r = 0; r < n; ++r) c.e[Scores::Layout::index(row + r, j)] = dots[r];
    }
  }
  template <DType dtype, int n, int kv, int dims>
  static void weighted_block(float* out, int out_stride, const float* weights,
                             const DirectTile<kv, dims>& b, const void* const* next, int vectors,
                             int depth) {
    constexpr int fit = power_of_two_up_to(block_accumulators / n);
    constexpr int wide = fit > 8 ? 8 : fit < 2 ? 2 : fit;
    int j = 0;
    const auto columns = [&]<int width>() {
      for (; j + width <= vectors; j += width) {
        add_weighted_rows<dtype, n, width>(weights, kv, b.row, next,
                                           i64{j} * vec_width * size_of(dtype), depth,
                                           out + j * vec_width, out_stride);
      }
    };
    columns.template operator()<wide>();
    if constexpr (wide > 2) columns.template operator()<2>();
    columns.template operator()<1>();
  }
};

WF_NAMESPACE_END
