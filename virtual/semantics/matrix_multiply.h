// Matrix instructions, one function template for each kind of sum.
#pragma once

#include <array>
#include <utility>

#include "virtual/semantics/matrix_elements.h"

namespace instinct::INSTINCT_LEVEL {

template <class T>
inline T accumulator(const MatrixOperands& o, int row, int lane) {
  if constexpr (sizeof(T) == 8) {
    if (o.c == nullptr) return std::bit_cast<T>(o.c_constant);
    return std::bit_cast<T>(o.c[64 * row + lane] | u64{o.c[64 * (row + 1) + lane]} << 32);
  } else {
    return std::bit_cast<T>(o.c == nullptr ? static_cast<u32>(o.c_constant) : o.c[64 * row + lane]);
  }
}
template <class V>
inline V accumulators(const MatrixOperands& o, int row, int lane) {
  if (o.c != nullptr) return load_vector<V>(o.c + 64 * row + lane);
  u32 words[vector_width];
  for (u32& word : words) word = static_cast<u32>(o.c_constant);
  return load_vector<V>(words);
}

// ---- Sums of groups: f16, bf16, xf32, 8 bits and below ----

// A shape without what elements are: instructions of different formats share the code of a sum.
struct Sums {
  int m, n, k, blocks;
  Sum kind;
  int group;    // summed at once
  bool scaled;  // and, for f8f6f4, 8-bit operands:
  bool chunked_a, chunked_b;

  constexpr Shape places() const {
    const Element element = scaled ? Element::f8f6f4 : Element::f16;
    return {.m = m, .n = n, .k = k, .blocks = blocks, .a = element, .b = element};
  }
};
constexpr Sums sums_of(const Shape& s, bool chunked_a = false, bool chunked_b = false) {
  const bool scaled = s.a == Element::f8f6f4;
  const bool bytes = scaled || s.a == Element::fp8 || s.a == Element::bf8;
  const int most = bytes ? 16 : s.a == Element::xf32 ? 4 : 8;
  return {.m = s.m,
          .n = s.n,
          .k = s.k,
          .blocks = s.blocks,
          .kind = bytes ? Sum::bytes : Sum::halves,
          .group = s.k < most ? s.k : most,
          .scaled = scaled,
          .chunked_a = chunked_a,
          .chunked_b = chunked_b};
}

template <Sums sums>
struct GroupSum {
  static constexpr Shape shape = sums.places();
  static constexpr bool is_scaled = sums.scaled, of_bytes = sums.kind == Sum::bytes;
  static constexpr int group_length = sums.group;
  using Operand = Elements<shape.per_lane(shape.m)>;

  const Operand& a;
  const Operand& b;
  // Exponents of scales, by block of 32 along k and row (column); special_exponent is NaN.
  const i32 (*scale_a)[32] = nullptr;
  const i32 (*scale_b)[32] = nullptr;

  i32 scale(int group, int i, int j) const {
    if constexpr (!is_scaled) return 0;
    const int block = group * group_length / 32;
    return scale_a[block][i] + scale_b[block][j];
  }

  // Any case, an element at a time.
  [[gnu::noinline]] float element(int block, int block_a, int i, int j, float c) const {
    for (int g = 0; g < shape.k / group_length; ++g) {
      Group group;
      group.count = group_length;
      group.scale = scale(g, i, j);
      if (group.scale >= special_exponent / 2) return float_of(0x7fc00000u);
      for (int k = 0; k < group_length; ++k) {
        const Place pa = place_of(shape, shape.m, block_a, i, g * group_length + k, sums.chunked_a);
        const Place pb = place_of(shape, shape.n, block, j, g * group_length + k, sums.chunked_b);
        group.a[k] = a.value[pa.position][pa.lane];
        group.b[k] = b.value[pb.position][pb.lane];
        group.exponent_a[k] = a.exponent[pa.position][pa.lane];
        group.exponent_b[k] = b.exponent[pb.position][pb.lane];
      }
      c = add_group(group, c, sums.kind);
    }
    return c;
  }

  // Where the elements of group group_index are.
  template <int group_index>
  struct Places {
    static constexpr int term_count = group_length;
    static constexpr std::array<int, group_length> offsets(int side, bool chunked) {
      std::array<int, group_length> table{};
      for (int k = 0; k < group_length; ++k) {
        table[k] = offset_of(shape, side, group_index * group_length + k, chunked);
      }
      return table;
    }
    static constexpr std::array<int, group_length> offsets_a = offsets(shape.m, sums.chunked_a);
    static constexpr std::array<int, group_length> offsets_b = offsets(shape.n, sums.chunked_b);
  };

  // c and group group_index for vector_width columns from j on.
  template <int group_index>
  [[gnu::always_inline]] Floats add(const Operands& o, int i, int j, Floats c, Ints& tiny) const {
    using P = Places<group_index>;
    Ints scales{};
    if constexpr (is_scaled) {
      constexpr int scale_block = group_index * group_length / 32;
      scales = scale_a[scale_block][i] + load_vector<Ints>(&scale_b[scale_block][j]);
    }
    VectorSum sum;
    if constexpr (of_bytes) {
      sum = combined(vector_sum<P, 0, 2>(o), vector_sum<P, 1, 2>(o));
    } else {
      sum = vector_sum<P, 0, 1>(o);
    }
    tiny |= out_of_range(sum.exponent);
    return finish<sums.kind>(sum, c, scales);
  }

  // All groups. Sets `tiny` in the lanes of which `vector_sum` does not hold the sum.
  template <int... group_index>
  [[gnu::always_inline]] Floats columns(std::integer_sequence<int, group_index...>,
                                        const Operands& o, int i, int j, Floats c,
                                        Ints& tiny) const {
    ((c = add<group_index>(o, i, j, c, tiny)), ...);
    return c;
  }
};

// Every column, vector_width at a time. `wide`: products may be so small that `vector_sum` does not
// hold their sum.
template <Sums sums>
inline void multiply_vectors(const MatrixOperands& o, const GroupSum<sums>& sum, bool wide) {
  constexpr Shape shape = sums.places();
  const std::make_integer_sequence<int, sums.k / sums.group> groups;
  for (int block = 0; block < shape.blocks; ++block) {
    const int block_a = broadcast_block(block, o, shape.blocks);
    for (int i = 0; i < shape.m; ++i) {
      for (int j = 0; j < shape.n; j += vector_width) {
        const Place at = place_of_result(shape, block, i, j);
        const Floats c = accumulators<Floats>(o, at.position, at.lane);
        const Ints special = reinterpret_cast<Ints>(reinterpret_cast<Words>(c) & 0x7f800000u);
        Ints tiny{};
        const int row = i + shape.m * block_a, column = j + shape.n * block;
        const Operands operands{sum.a.value[0] + row, sum.b.value[0] + column,
                                sum.a.exponent[0] + row, sum.b.exponent[0] + column};
        Floats d = sum.columns(groups, operands, i, j, c, tiny);
        // An accumulator that is not finite stays as it is: the products are.
        d = select<Floats>(special == 0x7f800000, c + c, d);
        if (wide) {
          for (int l = 0; l < vector_width; ++l) {
            if (tiny[l] != 0) d[l] = sum.element(block, block_a, i, j + l, c[l]);
          }
        }
        store_vector(o.d + 64 * at.position + at.lane, d);
      }
    }
  }
}

template <Sums sums>
void multiply_elements(const MatrixOperands& o, const GroupSum<sums>& sum) {
  constexpr Shape shape = sums.places();
  for (int block = 0; block < shape.blocks; ++block) {
    const int block_a = broadcast_block(block, o, shape.blocks);
    for (int i = 0; i < shape.m; ++i) {
      for (int j = 0; j < shape.n; ++j) {
        const Place at = place_of_result(shape, block, i, j);
        const float c = accumulator<float>(o, at.position, at.lane);
        o.d[64 * at.position + at.lane] = bits_of(sum.element(block, block_a, i, j, c));
      }
    }
  }
}

// By vectors if they hold every sum of these operands, or all but some.
template <Sums sums>
void multiply_operands(const MatrixOperands& o, const GroupSum<sums>& sum) {
  if constexpr (sums.n >= 16) {
    if (sum.a.most() + sum.b.most() <= 120) {
      return multiply_vectors<sums>(o, sum, sum.a.least() + sum.b.least() < -100);
    }
  }
  multiply_elements<sums>(o, sum);
}

// Elements, then their sums.
template <Shape shape>
void multiply_groups(const MatrixOperands& o) {
  constexpr int position_count = shape.per_lane(shape.m);
  Elements<position_count> a, b;
  constexpr int row_count = position_count * bits_of_element(shape.b) / 32;
  u32 scratch[64 * row_count];
  decode<shape.b, shape.ocp>(b, patterned(o, row_count, scratch), position_count);
  MatrixOperands plain = o;
  if constexpr (shape.sparse) {
    Elements<position_count / 2> kept;
    decode<shape.a, shape.ocp>(kept, o.a, position_count / 2);
    spread<position_count / 2>(a, kept, o.index, o.cbsz == 0 ? o.abid : 0);
    plain.cbsz = plain.abid = 0;
  } else {
    decode<shape.a, shape.ocp>(a, o.a, position_count);
  }
  multiply_operands<sums_of(shape)>(plain, {a, b});
}

// Exponents of the scales of one operand: lane i + side * block holds that of row i's block of 32.
template <Shape shape>
inline bool read_scales(i32 (&out)[shape.k / 32][32], const u32* row, int byte, int side) {
  bool finite = true;
  for (int block = 0; block < shape.k / 32; ++block) {
    for (int i = 0; i < side; ++i) {
      const u32 bits = row == nullptr ? 127 : row[i + side * block] >> (8 * byte) & 0xff;
      finite = finite && bits != 0xff;
      out[block][i] = bits == 0xff ? special_exponent : static_cast<i32>(bits) - 127;
    }
  }
  return finite;
}

template <Shape shape>
void multiply_scaled(const MatrixOperands& o) {
  Elements<32> a, b;
  i32 scale_a[shape.k / 32][32], scale_b[shape.k / 32][32];
  const Narrow format_a = static_cast<Narrow>(o.cbsz), format_b = static_cast<Narrow>(o.blgp);
  decode_narrow(a, o.a, format_a);
  decode_narrow(b, o.b, format_b);
  const bool finite_a = read_scales<shape>(scale_a, o.scale_a, o.scale_byte_a, shape.m);
  const bool finite_b = read_scales<shape>(scale_b, o.scale_b, o.scale_byte_b, shape.n);
  const bool chunked_a = format_a <= Narrow::bf8, chunked_b = format_b <= Narrow::bf8;
  MatrixOperands plain = o;
  plain.cbsz = plain.abid = plain.blgp = 0;
  // A NaN among the scales: element by element.
  if (!finite_a || !finite_b) a.high = b.high = all(special_exponent);
  if (chunked_a && chunked_b) {
    multiply_operands<sums_of(shape, true, true)>(plain, {a, b, scale_a, scale_b});
  } else if (chunked_a) {
    multiply_operands<sums_of(shape, true, false)>(plain, {a, b, scale_a, scale_b});
  } else if (chunked_b) {
    multiply_operands<sums_of(shape, false, true)>(plain, {a, b, scale_a, scale_b});
  } else {
    multiply_operands<sums_of(shape)>(plain, {a, b, scale_a, scale_b});
  }
}

// ---- Chains of fused multiply-adds: f32, f64 ----

template <Shape shape>
void multiply_f32(const MatrixOperands& o) {
  constexpr int position_count = shape.per_lane(shape.m);
  u32 scratch[64 * position_count], of_a[64 * position_count], of_b[64 * position_count];
  std::memcpy(of_a, o.a, sizeof of_a);
  std::memcpy(of_b, patterned(o, position_count, scratch), sizeof of_b);
  constexpr int column_count = shape.n < vector_width ? shape.n : vector_width;
  for (int block = 0; block < shape.blocks; ++block) {
    const int block_a = broadcast_block(block, o, shape.blocks);
    for (int i = 0; i < shape.m; ++i) {
      for (int j = 0; j < shape.n; j += column_count) {
        const Place at = place_of_result(shape, block, i, j);
        float sum[column_count];
        for (int l = 0; l < column_count; ++l)
          sum[l] = accumulator<float>(o, at.position, at.lane + l);
        for (int k = 0; k < shape.k; ++k) {
          const Place pa = place_of(shape, shape.m, block_a, i, k, false);
          const Place pb = place_of(shape, shape.n, block, j, k, false);
          const float x = float_of(of_a[64 * pa.position + pa.lane]);
          const u32* y = of_b + 64 * pb.position + pb.lane;
          for (int l = 0; l < column_count; ++l) sum[l] = std::fma(x, float_of(y[l]), sum[l]);
        }
        std::memcpy(o.d + 64 * at.position + at.lane, sum, sizeof sum);
      }
    }
  }
}

// The bits of blgp negate a, b, c (LLVM, "neg:[...]" of gfx940's f64 MFMA).
template <Shape shape>
void multiply_f64(const MatrixOperands& o) {
  double of_a[64], of_b[64];
  for (int l = 0; l < 64; ++l) {
    const u64 a = o.a[l] | u64{o.a[64 + l]} << 32, b = o.b[l] | u64{o.b[64 + l]} << 32;
    of_a[l] = double_of(a ^ u64{o.blgp & 1u} << 63);
    of_b[l] = double_of(b ^ u64{o.blgp >> 1 & 1u} << 63);
  }
  for (int block = 0; block < shape.blocks; ++block) {
    const int block_a = broadcast_block(block, o, shape.blocks);
    for (int i = 0; i < shape.m; ++i) {
      for (int j = 0; j < shape.n; ++j) {
        const Place at = place_of_result(shape, block, i, j);
        double sum = accumulator<double>(o, at.position, at.lane);
        if ((o.blgp & 4) != 0) sum = -sum;
        for (int k = 0; k < shape.k; ++k) {
          sum = std::fma(of_a[place_of(shape, shape.m, block_a, i, k, false).lane],
                         of_b[place_of(shape, shape.n, block, j, k, false).lane], sum);
        }
        o.d[64 * at.position + at.lane] = static_cast<u32>(bits_of(sum));
        o.d[64 * (at.position + 1) + at.lane] = static_cast<u32>(bits_of(sum) >> 32);
      }
    }
  }
}

// ---- Integers: i8 to i32, which wraps around ----

template <int position_count>
inline void decode_i8(i32 (&out)[position_count][64], const u32* rows) {
  for (int p = 0; p < position_count; ++p) {
    const u32* words = rows + 64 * (p / 4);
    for (int l = 0; l < 64; ++l) {
      out[p][l] = static_cast<i32>(words[l] << (24 - 8 * (p % 4))) >> 24;
    }
  }
}

// Where the elements along k are, in A and likewise in B.
template <Shape shape>
constexpr std::array<int, shape.k> offsets_along_k() {
  std::array<int, shape.k> table{};
  for (int k = 0; k < shape.k; ++k) table[k] = offset_of(shape, shape.m, k, false);
  return table;
}

// One row of D: A's elements at a, B's at b.
template <Shape shape>
inline void multiply_row(const MatrixOperands& o, const i32* a, const i32* b, int block, int i) {
  static constexpr auto offsets_of_k = offsets_along_k<shape>();
  constexpr int vector_count = shape.n / vector_width;
  const Place at = place_of_result(shape, block, i, 0);
  Words sum[vector_count];
  for (int v = 0; v < vector_count; ++v) {
    sum[v] = accumulators<Words>(o, at.position, at.lane + v * vector_width);
  }
  for (int k = 0; k < shape.k; ++k) {
    const u32 x = static_cast<u32>(a[offsets_of_k[k]]);
#pragma GCC unroll 8
    for (int v = 0; v < vector_count; ++v) {
      sum[v] += x * load_vector<Words>(b + offsets_of_k[k] + v * vector_width);
    }
  }
  for (int v = 0; v < vector_count; ++v) {
    store_vector(o.d + 64 * at.position + at.lane + v * vector_width, sum[v]);
  }
}
template <Shape shape>
inline void multiply_row_elements(const MatrixOperands& o, const i32* a, const i32* b, int block,
                                  int i) {
  for (int j = 0; j < shape.n; ++j) {
    const Place at = place_of_result(shape, block, i, j);
    u32 sum = accumulator<u32>(o, at.position, at.lane);
    for (int k = 0; k < shape.k; ++k) {
      const int offset = offset_of(shape, shape.m, k, false);
      sum += static_cast<u32>(a[offset] * b[offset + j]);
    }
    o.d[64 * at.position + at.lane] = sum;
  }
}

template <Shape shape>
void multiply_i8(const MatrixOperands& o) {
  constexpr int position_count = shape.per_lane(shape.m);
  alignas(64) i32 a[position_count][64], b[position_count][64];
  u32 scratch[64 * (position_count / 4)];
  decode_i8(b, patterned(o, position_count / 4, scratch));
  MatrixOperands plain = o;
  if constexpr (shape.sparse) {
    i32 kept[position_count / 2][64];
    decode_i8(kept, o.a);
    std::memset(a, 0, sizeof a);
    const int set = o.cbsz == 0 ? o.abid : 0;
    for (int l = 0; l < 64; ++l) {
      const u64 bits = u64{o.index[l]} >> (position_count * set % 32);
      for (int p = 0; p < position_count / 2; ++p)
        a[4 * (p / 2) + (bits >> (2 * p) & 3)][l] = kept[p][l];
    }
    plain.cbsz = plain.abid = 0;
  } else {
    decode_i8(a, o.a);
  }
  for (int block = 0; block < shape.blocks; ++block) {
    const int block_a = broadcast_block(block, plain, shape.blocks);
    for (int i = 0; i < shape.m; ++i) {
      const i32* of_a = a[0] + i + shape.m * block_a;
      const i32* of_b = b[0] + shape.n * block;
      if constexpr (shape.n >= vector_width) {
        multiply_row<shape>(o, of_a, of_b, block, i);
      } else {
        multiply_row_elements<shape>(o, of_a, of_b, block, i);
      }
    }
  }
}

}  // namespace instinct::INSTINCT_LEVEL
