// Matrix products by mma.sync: the left operand in registers, the right one in swizzled tiles.
#pragma once

#include "tile/fragment.h"
#include "tile/sm80/grid.h"
#include "tile/sm80/shared.h"
#include "tile/sm80/wave.h"

WF_NAMESPACE_BEGIN(tile)

/// Rows of bfloat16 as float16, each times a power of two by which its largest value comes close to
/// float16's: exact, but for values of less than 2^-31 of it. Products with float8 then need no
/// bfloat16, to which no instruction widens. The four lanes of a quad share their rows.
template <int rows>
class PowersOfTwo {
 public:
  WF_DEVICE void see(int row, u32 pair) {
    constexpr u32 magnitude = 0x7fff0000u;
    const i32 high = static_cast<i32>(pair & magnitude);
    const i32 low = static_cast<i32>(pair << 16 & magnitude);
    top_[row] = max(top_[row], max(low, high));
  }
  /// When all values of the rows have been seen.
  WF_DEVICE void choose() {
    WF_UNROLL
    for (i32& top : top_) {
      for (int mask = 1; mask <= 2; mask *= 2) {
        top = max(top, static_cast<i32>(isa::shuffle_xor(static_cast<u32>(top), mask)));
      }
      // Both factors are normal numbers; infinities stay what they are.
      top = min(max(top >> 23, lowest), highest);
    }
  }
  WF_DEVICE u32 to_f16(int row, u32 pair) const {
    const float factor = __builtin_bit_cast(float, (2 * 127 + target - top_[row]) << 23);
    return isa::pack<DType::f16>(isa::unpack<DType::bf16>(pair, 0) * factor,
                                 isa::unpack<DType::bf16>(pair, 1) * factor);
  }
  /// One, unless rows were chosen.
  WF_DEVICE float inverse(int row) const {
    return top_[row] == 0 ? 1.f : __builtin_bit_cast(float, (top_[row] - target) << 23);
  }

 private:
  static constexpr i32 target = 14;  // values reach 2^15
  static constexpr i32 lowest = target + 1, highest = 254;
  i32 top_[rows] = {};  // the largest value, then its exponent
};

/// A left operand in registers, NvidiaLeftLayout for each group of sixteen columns.
template <DType dtype_, int rows_, int cols_>
struct NvidiaLeftOperand {
  static constexpr bool in_registers = true;
  static constexpr DType dtype = dtype_;
  static constexpr int rows = rows_;
  static constexpr int cols = cols_;
  static_assert(rows % 16 == 0 && cols % 16 == 0);
  struct Storage {};
  u32 r[cols / 16][NvidiaLeftLayout::registers];
  float row_scale[2];  // what a row of scores is to be multiplied by, where the layout scales rows

  WF_DEVICE void bind(Storage&) {}
  WF_DEVICE void set(int, int k, int i, u32 pair) { r[k][i] = pair; }
  WF_DEVICE void get(int, int k, u32 (&to)[4]) const {
    WF_UNROLL
    for (int i = 0; i < 4; ++i) to[i] = r[k][i];
  }
};

/// The same in a tile of shared memory. A warp writes and reads its own sixteen rows.
template <class Tile>
struct SharedLeftOperand {
  static constexpr bool in_registers = false;
  using Storage = Tile;
  static constexpr DType dtype = Tile::dtype;
  static constexpr int rows = Tile::rows;
  static constexpr int cols = Tile::cols;
  Tile* tile;
  float row_scale[2];

  WF_DEVICE void bind(Tile& storage) {
    isa::warp_barrier();  // the queries before have been read
    tile = &storage;
  }
  WF_DEVICE void set(int lane, int k, int i, u32 pair) {
    using L = NvidiaLeftLayout;
    const int column = k * 16 + L::col(lane, i);
    u8* chunk = tile->bytes + Tile::offset(L::row(lane, i), column / Tile::chunk_elements);
    *reinterpret_cast<u32*>(chunk + column % Tile::chunk_elements * size_of(dtype)) = pair;
  }
  WF_DEVICE void get(int lane, int k, u32 (&to)[4]) const {
    const u32 base = isa::shared_address(tile->bytes) +
                     static_cast<u32>(Tile::offset(lane / 32 * 16 + lane % 16, lane % 32 / 16));
    isa::load_matrix_x4(to, Tile::moved(base, 0, k * 2));
  }
};

template <bool first, class A, class B>
struct ChooseType {
  using Type = A;
};
template <class A, class B>
struct ChooseType<false, A, B> {
  using Type = B;
};
template <bool first, class A, class B>
using Choose = typename ChooseType<first, A, B>::Type;

/// Two accumulator groups of 8 columns are one operand group of 16: the registers match in place.
template <class Operand, class Accumulator>
WF_DEVICE void relayout(Operand& to, const Accumulator& from) {
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 16; ++k) {
    WF_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int at = k * 8 + NvidiaLeftLayout::accumulator_index(i);
      to.r[k][i] = isa::pack<Operand::dtype>(from.e[at], from.e[at + 1]);
    }
  }
}

/// c = a b^T; b holds the columns of c as rows.
template <class Accumulator, class Operand, class Tile>
  requires(!is_float8(Tile::dtype))
WF_DEVICE void mma_abt(Accumulator& c, const Operand& a, const Tile& b) {
  static_assert(is_movable<Tile, 8, 4>());
  const int thread = isa::thread_anew();
  const int lane = thread % 32;
  const u32 base =
      isa::shared_address(b.bytes) + static_cast<u32>(Tile::offset(lane % 8, lane / 8));
  WF_UNROLL
  for (float& x : c.e) x = 0.f;
  const auto add_columns = [&](int k) {
    u32 left[2][4];
    a.get(thread, k * 2, left[0]);
    a.get(thread, k * 2 + 1, left[1]);
    WF_UNROLL
    for (int n = 0; n < Tile::rows / 8; ++n) {
      u32 right[4];
      isa::load_matrix_x4(right, Tile::moved(base, n * 8, k * 4));
      isa::mma_16x8x16<Operand::dtype>(c.e + n * 4, left[0], right[0], right[1]);
      isa::mma_16x8x16<Operand::dtype>(c.e + n * 4, left[1], right[2], right[3]);
    }
  };
  constexpr int steps = Operand::cols / 32;
  if constexpr (Operand::in_registers) {
    WF_UNROLL
    for (int k = 0; k < steps; ++k) add_columns(k);
  } else {
    WF_NO_UNROLL  // wide: what is loaded ahead would take registers
        for (int k = 0; k < steps; ++k) add_columns(k);
  }
}

/// The same for a tile of float8; `a` is in NvidiaFloat8LeftLayout.
template <class Accumulator, class Operand, class Tile>
  requires(is_float8(Tile::dtype))
WF_DEVICE void mma_abt(Accumulator& c, const Operand& a, const Tile& b) {
  static_assert(Operand::dtype == DType::f16);
  static_assert(is_movable<Tile, 8, 4>());
  const int thread = isa::thread_anew();
  const int lane = thread % 32;
  const u32 base =
      isa::shared_address(b.bytes) + static_cast<u32>(Tile::offset(lane % 8, lane / 8));
  WF_UNROLL
  for (float& x : c.e) x = 0.f;
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 64; ++k) {
    u32 left[4][4];
    WF_UNROLL
    for (int i = 0; i < 4; ++i) a.get(thread, k * 4 + i, left[i]);
    WF_UNROLL
    for (int n = 0; n < Tile::rows / 8; ++n) {
      u32 right[4];
      isa::load_matrix_x4(right, Tile::moved(base, n * 8, k * 4));
      WF_UNROLL
      for (int i = 0; i < 4; ++i) {
        u32 pair[2];
        isa::widen<Tile::dtype>(right[i], pair);
        isa::mma_16x8x16<Operand::dtype>(c.e + n * 4, left[i], pair[0], pair[1]);
      }
    }
  }
}

/// Sixteen rows and `cols` columns of a tile as right operands of groups of eight columns, of type
/// `dtype`. Of float8 the matrix loads take two neighbours for an element of 16 bits: transposed, a
/// lane has those of two rows, which NvidiaFloat8AccumulatorLayout follows.
template <class Tile, DType dtype>
struct RightOperand {
  static constexpr bool widens = is_float8(Tile::dtype);
  static_assert(!widens || dtype == DType::f16);
  static constexpr int cols = widens ? 32 : 16;
  u32 pair[cols / 8][2];

  /// Where the lane's row lies; once a tile.
  WF_DEVICE static u32 base_of(const Tile& tile, int lane) {
    static_assert(is_movable<Tile, 16, 2>());
    return isa::shared_address(tile.bytes) + static_cast<u32>(Tile::offset(lane % 16, lane / 16));
  }
  WF_DEVICE void load(u32 base, int k, int n) {
    u32 r[4];
    isa::load_matrix_x4_transposed(r, Tile::moved(base, k * 16, n * 2));
    WF_UNROLL
    for (int i = 0; i < 4; ++i) {
      if constexpr (widens) {
        u32 even_then_odd[2];
        isa::widen<Tile::dtype>(isa::permute<0x3120>(r[i]), even_then_odd);
        pair[i / 2 * 2][i % 2] = even_then_odd[0];
        pair[i / 2 * 2 + 1][i % 2] = even_then_odd[1];
      } else {
        pair[i / 2][i % 2] = r[i];
      }
    }
  }
};

/// c += a b.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void mma_ab(Accumulator& c, const Operand& a, const Tile& b) {
  using Right = RightOperand<Tile, Operand::dtype>;
  const u32 base = Right::base_of(b, isa::thread_anew() % 32);
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 16; ++k) {
    WF_UNROLL
    for (int n = 0; n < Tile::cols / Right::cols; ++n) {
      Right right;
      right.load(base, k, n);
      WF_UNROLL
      for (int i = 0; i < Right::cols / 8; ++i) {
        isa::mma_16x8x16<Operand::dtype>(c.e + (n * Right::cols / 8 + i) * 4, a.r[k],
                                         right.pair[i][0], right.pair[i][1]);
      }
    }
  }
}

/// Rows of q from global memory; columns behind the last dimension are zero. `Columns` is the
/// layout that says which columns a lane takes.
template <class Columns, class Operand, class Address>
WF_DEVICE void load_left_operand(Operand& to, DType dtype, i32 rows, i32 dims, int lane,
                                 Address&& address) {
  using L = NvidiaLeftLayout;
  const char* row[2];
  WF_UNROLL
  for (int i = 0; i < 2; ++i) {
    row[i] = static_cast<const char*>(address(min(L::row(lane, i), rows - 1)));
  }
  const auto for_pairs = [&](auto&& f) {
    WF_UNROLL
    for (int k = 0; k < Operand::cols / 16; ++k) {
      WF_UNROLL
      for (int i = 0; i < L::registers; ++i) {
        const int column = k * 16 + Columns::col(lane, i);
        const bool valid = column < dims;
        const u32 value = *reinterpret_cast<const u32*>(row[i % 2] + (valid ? column * 2 : 0));
        f(k, i, valid ? value : 0);
      }
    }
  };
  if constexpr (Columns::scales_rows) {
    PowersOfTwo<2> scale;
    if (dtype == DType::bf16) {
      for_pairs([&](int, int i, u32 pair) { scale.see(i % 2, pair); });
      scale.choose();
      for_pairs([&](int k, int i, u32 pair) { to.set(lane, k, i, scale.to_f16(i % 2, pair)); });
    } else {
      for_pairs([&](int k, int i, u32 pair) { to.set(lane, k, i, pair); });
    }
    WF_UNROLL
    for (int i = 0; i < 2; ++i) to.row_scale[i] = scale.inverse(i);
  } else {
    for_pairs([&](int k, int i, u32 pair) { to.set(lane, k, i, pair); });
  }
  isa::warp_barrier();
}

/// What NVIDIA architectures with matrix products share.
template <int warps>
struct NvidiaProducts : NvidiaCommon<warps> {
  static constexpr bool scales_late = true;    // one fma makes a score exp2's argument
  static constexpr float maximum_slack = 8.f;  // as FlashAttention-4 does

  WF_DEVICE static bool any_of_wave(bool a) { return isa::ballot(a) != 0; }
  /// This lane's share of the sum of a row of weights.
  template <class Weights>
  WF_DEVICE static float weight_sum(const Weights& weights, int slot) {
    float sum = 0.f;
    WF_UNROLL
    for (int k = 0; k < Weights::cols / 16; ++k) {
      WF_UNROLL
      for (int i = slot; i < NvidiaLeftLayout::registers; i += 2) {
        sum += isa::unpack<Weights::dtype>(weights.r[k][i], 0) +
               isa::unpack<Weights::dtype>(weights.r[k][i], 1);
      }
    }
    return sum;
  }
  template <class Weights, class Scores>
  WF_DEVICE static void to_weights(Weights& weights, const Scores& scores, Extent) {
    relayout(weights, scores);
  }
};

WF_NAMESPACE_END
