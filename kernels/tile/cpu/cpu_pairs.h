// The CPU with products of bf16 pairs: the many-rows class of levels that have them.
#pragma once

#include "tile/cpu/cpu.h"
#include "tile/cpu/pairs.h"

WF_NAMESPACE_BEGIN(tile)

struct CpuPairs : Cpu {
  template <DType, int rows_, int cols_>
  using LeftOperand = PairOperand<rows_, cols_>;
  template <DType, int rows_, int cols_>
  using WeightOperand = PairOperand<rows_, cols_>;
  template <auto config>
  using KTile = PairPanelTile<config.tile_kv, config.head_dim_qk>;
  template <auto config>
  using VTile = PairRowTile<config.tile_kv, config.head_dim_vo>;

  template <class Tile, class Source, class Transform>
  WF_DEVICE static void load_end(Tile& tile, NoPending&, NoSlot, const Source& source, i32 first,
                                 i32 count, bool transforms, Transform&& transform) {
    stage_rows(tile, source, first, count, transforms, transform);
  }
  template <int rows_, int cols_, class Address, class Transform>
  WF_DEVICE static void load_left(PairOperand<rows_, cols_>& to, NoQueryTile&, DType, i32 rows,
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
  static constexpr bool rounds_weights = true;
  template <DType>
  WF_DEVICE static Vec round_weight(Vec a) {
    return from_bits(round_to_bf16(a) << 16);
  }

  template <class Output, class Weights, int kv, int dims>
  static void add_non_finite(Output& c, const Weights& a, PairRowTile<kv, dims>& b, Extent extent,
                             int depth) {
    // Element k of a pair: the lower half of its word, or the upper one.
    const auto half = [](u32 word, int k) { return k % 2 == 0 ? word << 16 : word & 0xffff0000u; };
    add_non_finite_rows(
        reinterpret_cast<float*>(c.e), Output::Layout::cols, extent.rows, depth,
        Output::Layout::active_per_slot(extent.cols),
        [&](int r, int k) { return tile::from_bits(static_cast<i32>(half(a.data[r][k / 2], k))); },
        [&](int k, int j) {
          const IVec words = load_words(&b.data[k / 2][j * vec_width]);
          return from_bits(k % 2 == 0 ? words << 16 : words & static_cast<i32>(0xffff0000u));
        },
        [&](int k) {
          for (u32& word : b.data[k / 2]) word &= k % 2 == 0 ? 0xffff0000u : 0x0000ffffu;
        });
  }
  template <class Weights, class Scores>
  WF_DEVICE static void to_weights(Weights& weights, const Scores& scores, Extent extent) {
    const auto* rows = reinterpret_cast<const float*>(scores.e);
    for (int row = 0; row < extent.rows; ++row) {
      narrow_to_pairs(weights.data[row], rows + row * Scores::Layout::cols,
                      round_up_to_vector(extent.cols));
    }
  }
};

WF_NAMESPACE_END
