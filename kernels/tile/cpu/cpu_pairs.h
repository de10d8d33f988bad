// The CPU with products of bf16 pairs, on levels that have them.
#pragma once

#include "tile/cpu/cpu.h"
#include "tile/cpu/direct_pairs.h"
#include "tile/cpu/pairs.h"

WF_NAMESPACE_BEGIN(tile)

struct CpuPairs : Cpu {
  template <DType, int rows_, int cols_>
  using LeftOperand = PairRows<rows_, cols_>;
  template <DType, int rows_, int cols_>
  using WeightOperand = PairRows<rows_, cols_>;
  template <auto config, bool few_rows = config.few_rows>
  struct Tiles {
    using K = PairPanelTile<config.tile_kv, config.head_dim_qk>;
    using V = PairRowTile<config.tile_kv, config.head_dim_vo>;
  };
  template <auto config>
  struct Tiles<config, true> {
    using K = DirectTile<config.tile_kv, config.head_dim_qk, PairRows>;
    using V = DirectTile<config.tile_kv, config.head_dim_vo, PairRows>;
  };
  template <auto config>
  using KTile = typename Tiles<config>::K;
  template <auto config>
  using VTile = typename Tiles<config>::V;

  template <class Tile, class Source, class Transform>
  WF_DEVICE static void load_end(Tile& tile, NoPending&, NoSlot, const Source& source, i32 first,
                                 i32 count, bool transforms, Transform&& transform) {
    stage_rows(tile, source, first, count, transforms, transform);
  }
  template <int rows_, int cols_, class Address, class Transform>
  WF_DEVICE static void load_left(PairRows<rows_, cols_>& to, NoQueryTile&, DType, i32 rows,
                                  i32 dims, int, Address&& address, Transform&& transform) {
    alignas(64) float row[cols_];
    for (i32 i = 0; i < rows; ++i) {
      widen_row<DType::bf16>(row, address(i), dims);
      pad_row(row, dims);
      transform(row, i);
      narrow_to_pairs(to.data[i], row, round_up_to_vector(dims));
    }
  }

  template <class Scores, class Operand, int kv, int dims>
  WF_DEVICE static void multiply_abt_begin(Scores& c, const Operand& a,
                                           const PairPanelTile<kv, dims>& b, Extent extent,
                                           int depth) {
    using Tile = PairPanelTile<kv, dims>;
    float* out = reinterpret_cast<float*>(c.e);
    for (int column = 0; column < extent.cols; column += Tile::panel) {
      multiply_panel<PairProduct, false>(extent.rows, a.data[0], Operand::stride,
                                         b.data[column / Tile::panel][0], Tile::panel,
                                         (depth + 1) / 2, out + column, kv, block_vectors);
    }
  }
  template <class Output, class Weights, int kv, int dims>
  WF_DEVICE static void multiply_ab_begin(Output& c, const Weights& a,
                                          const PairRowTile<kv, dims>& b, Extent extent,
                                          int depth) {
    float* out = reinterpret_cast<float*>(c.e);
    const int vectors = Output::Layout::active_per_slot(extent.cols);
    for (int j = 0; j < vectors; j += column_block) {
      multiply_panel<PairProduct, true>(
          extent.rows, a.data[0], Weights::stride, b.data[0] + j * vec_width, dims, (depth + 1) / 2,
          out + j * vec_width, Output::Layout::cols, min(column_block, vectors - j));
    }
  }
  template <class Scores, class Operand, int kv, int dims>
  WF_DEVICE static void multiply_abt_begin(Scores& c, const Operand& a,
                                           const DirectTile<kv, dims, PairRows>& b, Extent extent,
                                           int depth) {
    const int words = round_up_to_vector((depth + 1) / 2);
    for_row_blocks<few_rows_block>(extent.rows, [&]<int n>(int row) {
      float* out = reinterpret_cast<float*>(c.e) + row * Scores::Layout::cols;
      for (int key = 0; key < extent.cols; key += vec_width) {
        dot_pair_rows<n>(a.data[row], Operand::stride, b.row + key,
                         row == 0 ? b.next + key : nullptr, words, out + key, Scores::Layout::cols);
      }
    });
  }
  template <class Output, class Weights, int kv, int dims>
  WF_DEVICE static void multiply_ab_begin(Output& c, const Weights& a,
                                          const DirectTile<kv, dims, PairRows>& b, Extent extent,
                                          int depth) {
    for_row_blocks<few_rows_block>(extent.rows, [&]<int n>(int row) {
      float* out = reinterpret_cast<float*>(c.e) + row * Output::Layout::cols;
      weighted_pair_block<n>(out, Output::Layout::cols, a.data[row], Weights::stride, b.row,
                             row == 0 ? b.next : nullptr, extent.cols, depth);
    });
  }
  static constexpr bool rounds_weights = true;
  template <DType>
  WF_DEVICE static Vec round_weight(Vec a) {
    return from_bits(round_to_bf16(a) << 16);
  }

  template <class Output, class Weights, int kv, int dims>
  static void add_non_finite(Output& c, const Weights& a, PairRowTile<kv, dims>& b, Extent extent,
                             int depth) {
    add_non_finite_rows(
        reinterpret_cast<float*>(c.e), Output::Layout::cols, extent.rows, depth,
        Output::Layout::active_per_slot(extent.cols),
        [&](int r, int k) { return pair_element(a.data[r], k); },
        [&](int k, int j) {
          const IVec words = load_words(&b.data[k / 2][j * vec_width]);
          return from_bits(k % 2 == 0 ? words << 16 : words & static_cast<i32>(0xffff0000u));
        },
        [&](int k) {
          for (u32& word : b.data[k / 2]) word &= k % 2 == 0 ? 0xffff0000u : 0x0000ffffu;
        });
  }
  template <class Output, class Weights, int kv, int dims>
  static void add_non_finite(Output& c, const Weights& a, DirectTile<kv, dims, PairRows>& b,
                             Extent extent, int depth) {
    add_non_finite_rows(
        reinterpret_cast<float*>(c.e), Output::Layout::cols, extent.rows, depth,
        Output::Layout::active_per_slot(extent.cols),
        [&](int r, int k) { return pair_element(a.data[r], k); },
        [&](int k, int j) { return load_bf16(static_cast<const u16*>(b.row[k]) + j * vec_width); },
        [&](int k) { b.clear(k); });
  }
  template <class Weights, class Scores>
  WF_DEVICE static void to_weights(Weights& weights, const Scores& scores, Extent extent) {
    const auto* rows = reinterpret_cast<const float*>(scores.e);
    for (int row = 0; row < extent.rows; ++row) {
      narrow_to_pairs(weights.data[row], rows + row * Scores::Layout::cols,
                      round_up_to_vector(extent.cols));
    }
  }

 private:
  // Rows that share a pass over K and V as they lie: with 16 accumulators each line is read once.
  static constexpr int few_rows_block = 8;
};

WF_NAMESPACE_END
