// Matrix instructions, one function template for each kind of sum.
#pragma once

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
  u32 words[kWidth];
  for (u32& word : words) word = static_cast<u32>(o.c_constant);
  return load_vector<V>(words);
}

// ---- Sums of groups: f16, bf16, xf32, 8 bits and below ----

// What a sum needs to know besides the shape.
template <Shape kShape>
struct GroupSum {
  static constexpr bool kScaled = kShape.a == Element::f8f6f4;
  static constexpr bool kBytes = kScaled || kShape.a == Element::fp8 || kShape.a == Element::bf8;
  static constexpr Sum kSum = kBytes ? Sum::bytes : Sum::halves;
  static constexpr int kMost = kBytes ? 16 : kShape.a == Element::xf32 ? 4 : 8;
  static constexpr int kGroup = kShape.k < kMost ? kShape.k : kMost;
  static constexpr int kPositions = kShape.per_lane(kShape.m);
  using Operand = Elements<kPositions>;

  const Operand& a;
  const Operand& b;
  bool chunked_a = false, chunked_b = false;
  // Exponents of scales, by block of 32 along k and row (column); kSpecialExponent is NaN.
  const i32 (*scale_a)[32] = nullptr;
  const i32 (*scale_b)[32] = nullptr;

  i32 scale(int group, int i, int j) const {
    if constexpr (!kScaled) return 0;
    const int block = group * kGroup / 32;
    return scale_a[block][i] + scale_b[block][j];
  }

  // Any case, an element at a time.
  float element(int block, int block_a, int i, int j, float c) const {
    for (int g = 0; g < kShape.k / kGroup; ++g) {
      Group group{.count = kGroup, .scale = scale(g, i, j)};
      if (group.scale >= kSpecialExponent / 2) return float_of(0x7fc00000u);
      for (int k = 0; k < kGroup; ++k) {
        const Place pa = place_of(kShape, kShape.m, block_a, i, g * kGroup + k, chunked_a);
        const Place pb = place_of(kShape, kShape.n, block, j, g * kGroup + k, chunked_b);
        group.a[k] = a.value[pa.position][pa.lane];
        group.b[k] = b.value[pb.position][pb.lane];
        group.exponent_a[k] = a.exponent[pa.position][pa.lane];
        group.exponent_b[k] = b.exponent[pb.position][pb.lane];
      }
      c = add_group(group, c, kSum);
    }
    return c;
  }

  // kWidth columns from j on. kChunkedA, kChunkedB: as the members. Sets `tiny` in the lanes of
  // which `vector_sum` does not hold the sum.
  template <bool kChunkedA, bool kChunkedB>
  Floats columns(int block, int block_a, int i, int j, Floats c, Ints& tiny) const {
#pragma GCC unroll 2
    for (int g = 0; g < kShape.k / kGroup; ++g) {
      const auto place_a = [&](int k) {
        return place_of(kShape, kShape.m, block_a, i, g * kGroup + k, kChunkedA);
      };
      const auto place_b = [&](int k) {
        return place_of(kShape, kShape.n, block, j, g * kGroup + k, kChunkedB);
      };
      const auto value_a = [&](int k) { return a.value[place_a(k).position][place_a(k).lane]; };
      const auto exponent_a = [&](int k) {
        return a.exponent[place_a(k).position][place_a(k).lane];
      };
      const auto value_b = [&](int k) {
        return load_vector<Floats>(&b.value[place_b(k).position][place_b(k).lane]);
      };
      const auto exponent_b = [&](int k) {
        return load_vector<Ints>(&b.exponent[place_b(k).position][place_b(k).lane]);
      };
      Ints scales{};
      if constexpr (kScaled) {
        const int k32 = g * kGroup / 32;
        scales = scale_a[k32][i] + load_vector<Ints>(&scale_b[k32][j]);
      }
      if constexpr (kBytes) {
        const VectorSum even = vector_sum<kGroup, 0, 2>(value_a, exponent_a, value_b, exponent_b);
        const VectorSum odd = vector_sum<kGroup, 1, 2>(value_a, exponent_a, value_b, exponent_b);
        const VectorSum both = combined(even, odd);
        tiny |= out_of_range(both.exponent);
        c = finish<kSum>(both, c, scales);
      } else {
        const VectorSum sum = vector_sum<kGroup, 0, 1>(value_a, exponent_a, value_b, exponent_b);
        tiny |= out_of_range(sum.exponent);
        c = finish<kSum>(sum, c, scales);
      }
    }
    return c;
  }
};

// kWide: some products may be so small that `vector_sum` does not hold their sum.
template <Shape kShape, bool kChunkedA, bool kChunkedB, bool kWide>
inline void multiply_vectors(const MatrixOperands& o, const GroupSum<kShape>& sum) {
  for (int block = 0; block < kShape.blocks; ++block) {
    const int block_a = broadcast_block(block, o, kShape.blocks);
    for (int i = 0; i < kShape.m; ++i) {
      for (int j = 0; j < kShape.n; j += kWidth) {
        const Place at = place_of_result(kShape, block, i, j);
        const Floats c = accumulators<Floats>(o, at.position, at.lane);
        const Ints special = reinterpret_cast<Ints>(reinterpret_cast<Words>(c) & 0x7f800000u);
        Ints tiny{};
        Floats d = sum.template columns<kChunkedA, kChunkedB>(block, block_a, i, j, c, tiny);
        // An accumulator that is not finite stays as it is: the products are.
        d = select<Floats>(special == 0x7f800000, c + c, d);
        if constexpr (kWide) {
          for (int l = 0; l < kWidth; ++l) {
            if (tiny[l] != 0) d[l] = sum.element(block, block_a, i, j + l, c[l]);
          }
        }
        store_vector(o.d + 64 * at.position + at.lane, d);
      }
    }
  }
}

template <Shape kShape>
inline void multiply_elements(const MatrixOperands& o, const GroupSum<kShape>& sum) {
  for (int block = 0; block < kShape.blocks; ++block) {
    const int block_a = broadcast_block(block, o, kShape.blocks);
    for (int i = 0; i < kShape.m; ++i) {
      for (int j = 0; j < kShape.n; ++j) {
        const Place at = place_of_result(kShape, block, i, j);
        const float c = accumulator<float>(o, at.position, at.lane);
        o.d[64 * at.position + at.lane] = bits_of(sum.element(block, block_a, i, j, c));
      }
    }
  }
}

// By vectors if they hold every sum of these operands, or all but some.
template <Shape kShape, bool kChunkedA = false, bool kChunkedB = false>
inline void multiply_operands(const MatrixOperands& o, const GroupSum<kShape>& sum) {
  if constexpr (kShape.n >= 16) {
    if (sum.a.most + sum.b.most <= 120) {
      if (sum.a.least + sum.b.least >= -100) {
        return multiply_vectors<kShape, kChunkedA, kChunkedB, false>(o, sum);
      }
      return multiply_vectors<kShape, kChunkedA, kChunkedB, true>(o, sum);
    }
  }
  multiply_elements<kShape>(o, sum);
}

template <Shape kShape>
void multiply_groups(const MatrixOperands& o) {
  constexpr int kPositions = kShape.per_lane(kShape.m);
  Elements<kPositions> a, b;
  constexpr int kRows = kPositions * bits_of_element(kShape.b) / 32;
  u32 scratch[64 * kRows];
  decode<kShape.b, kShape.ocp>(b, patterned(o, kRows, scratch), kPositions);
  if constexpr (kShape.sparse) {
    Elements<kPositions / 2> kept;
    decode<kShape.a, kShape.ocp>(kept, o.a, kPositions / 2);
    spread<kPositions / 2>(a, kept, o.index, o.cbsz == 0 ? o.abid : 0);
  } else {
    decode<kShape.a, kShape.ocp>(a, o.a, kPositions);
  }
  MatrixOperands plain = o;
  if (kShape.sparse) plain.cbsz = plain.abid = 0;
  multiply_operands<kShape>(plain, GroupSum<kShape>{.a = a, .b = b});
}

// Exponents of the scales of one operand: lane i + side * block holds that of row i's block of 32.
template <Shape kShape>
inline bool read_scales(i32 (&out)[kShape.k / 32][32], const u32* row, int byte, int side) {
  bool finite = true;
  for (int block = 0; block < kShape.k / 32; ++block) {
    for (int i = 0; i < side; ++i) {
      const u32 bits = row == nullptr ? 127 : row[i + side * block] >> (8 * byte) & 0xff;
      finite = finite && bits != 0xff;
      out[block][i] = bits == 0xff ? kSpecialExponent : static_cast<i32>(bits) - 127;
    }
  }
  return finite;
}

template <Shape kShape>
void multiply_scaled(const MatrixOperands& o) {
  Elements<32> a, b;
  i32 scale_a[kShape.k / 32][32], scale_b[kShape.k / 32][32];
  const Narrow format_a = static_cast<Narrow>(o.cbsz), format_b = static_cast<Narrow>(o.blgp);
  decode_narrow(a, o.a, format_a);
  decode_narrow(b, o.b, format_b);
  const bool finite_a = read_scales<kShape>(scale_a, o.scale_a, o.scale_byte_a, kShape.m);
  const bool finite_b = read_scales<kShape>(scale_b, o.scale_b, o.scale_byte_b, kShape.n);
  const bool chunked_a = format_a <= Narrow::bf8, chunked_b = format_b <= Narrow::bf8;
  MatrixOperands plain = o;
  plain.cbsz = plain.abid = plain.blgp = 0;
  const GroupSum<kShape> sum{a, b, chunked_a, chunked_b, scale_a, scale_b};
  if (!finite_a || !finite_b) return multiply_elements<kShape>(plain, sum);
  if (chunked_a && chunked_b) return multiply_operands<kShape, true, true>(plain, sum);
  if (chunked_a) return multiply_operands<kShape, true, false>(plain, sum);
  if (chunked_b) return multiply_operands<kShape, false, true>(plain, sum);
  multiply_operands<kShape>(plain, sum);
}

// ---- Chains of fused multiply-adds: f32, f64 ----

template <Shape kShape>
void multiply_f32(const MatrixOperands& o) {
  constexpr int kPositions = kShape.per_lane(kShape.m);
  u32 scratch[64 * kPositions], of_a[64 * kPositions], of_b[64 * kPositions];
  std::memcpy(of_a, o.a, sizeof of_a);
  std::memcpy(of_b, patterned(o, kPositions, scratch), sizeof of_b);
  constexpr int kColumns = kShape.n < kWidth ? kShape.n : kWidth;
  for (int block = 0; block < kShape.blocks; ++block) {
    const int block_a = broadcast_block(block, o, kShape.blocks);
    for (int i = 0; i < kShape.m; ++i) {
      for (int j = 0; j < kShape.n; j += kColumns) {
        const Place at = place_of_result(kShape, block, i, j);
        float sum[kColumns];
        for (int l = 0; l < kColumns; ++l) sum[l] = accumulator<float>(o, at.position, at.lane + l);
        for (int k = 0; k < kShape.k; ++k) {
          const Place pa = place_of(kShape, kShape.m, block_a, i, k, false);
          const Place pb = place_of(kShape, kShape.n, block, j, k, false);
          const float x = float_of(of_a[64 * pa.position + pa.lane]);
          const u32* y = of_b + 64 * pb.position + pb.lane;
          for (int l = 0; l < kColumns; ++l) sum[l] = std::fma(x, float_of(y[l]), sum[l]);
        }
        std::memcpy(o.d + 64 * at.position + at.lane, sum, sizeof sum);
      }
    }
  }
}

// The bits of blgp negate a, b, c (LLVM, "neg:[...]" of gfx940's f64 MFMA).
template <Shape kShape>
void multiply_f64(const MatrixOperands& o) {
  double of_a[64], of_b[64];
  for (int l = 0; l < 64; ++l) {
    const u64 a = o.a[l] | u64{o.a[64 + l]} << 32, b = o.b[l] | u64{o.b[64 + l]} << 32;
    of_a[l] = double_of(a ^ u64{o.blgp & 1u} << 63);
    of_b[l] = double_of(b ^ u64{o.blgp >> 1 & 1u} << 63);
  }
  for (int block = 0; block < kShape.blocks; ++block) {
    const int block_a = broadcast_block(block, o, kShape.blocks);
    for (int i = 0; i < kShape.m; ++i) {
      for (int j = 0; j < kShape.n; ++j) {
        const Place at = place_of_result(kShape, block, i, j);
        double sum = accumulator<double>(o, at.position, at.lane);
        if ((o.blgp & 4) != 0) sum = -sum;
        for (int k = 0; k < kShape.k; ++k) {
          sum = std::fma(of_a[place_of(kShape, kShape.m, block_a, i, k, false).lane],
                         of_b[place_of(kShape, kShape.n, block, j, k, false).lane], sum);
        }
        o.d[64 * at.position + at.lane] = static_cast<u32>(bits_of(sum));
        o.d[64 * (at.position + 1) + at.lane] = static_cast<u32>(bits_of(sum) >> 32);
      }
    }
  }
}

// ---- Integers: i8 to i32, which wraps around ----

template <int kPositions>
inline void decode_i8(i32 (&out)[kPositions][64], const u32* rows) {
  for (int p = 0; p < kPositions; ++p) {
    const u32* words = rows + 64 * (p / 4);
    for (int l = 0; l < 64; ++l) {
      out[p][l] = static_cast<i32>(words[l] << (24 - 8 * (p % 4))) >> 24;
    }
  }
}

template <Shape kShape>
void multiply_i8(const MatrixOperands& o) {
  constexpr int kPositions = kShape.per_lane(kShape.m);
  alignas(64) i32 a[kPositions][64], b[kPositions][64];
  u32 scratch[64 * (kPositions / 4)];
  decode_i8(b, patterned(o, kPositions / 4, scratch));
  MatrixOperands plain = o;
  if constexpr (kShape.sparse) {
    i32 kept[kPositions / 2][64];
    decode_i8(kept, o.a);
    std::memset(a, 0, sizeof a);
    const int set = o.cbsz == 0 ? o.abid : 0;
    for (int l = 0; l < 64; ++l) {
      const u64 bits = u64{o.index[l]} >> (kPositions * set % 32);
      for (int p = 0; p < kPositions / 2; ++p)
        a[4 * (p / 2) + (bits >> (2 * p) & 3)][l] = kept[p][l];
    }
    plain.cbsz = plain.abid = 0;
  } else {
    decode_i8(a, o.a);
  }
  constexpr int kColumns = kShape.n < kWidth ? kShape.n : kWidth;
  for (int block = 0; block < kShape.blocks; ++block) {
    const int block_a = broadcast_block(block, plain, kShape.blocks);
    for (int i = 0; i < kShape.m; ++i) {
      for (int j = 0; j < kShape.n; j += kColumns) {
        const Place at = place_of_result(kShape, block, i, j);
        u32 sum[kColumns];
        for (int l = 0; l < kColumns; ++l) sum[l] = accumulator<u32>(o, at.position, at.lane + l);
        for (int k = 0; k < kShape.k; ++k) {
          const Place pa = place_of(kShape, kShape.m, block_a, i, k, false);
          const Place pb = place_of(kShape, kShape.n, block, j, k, false);
          const i32 x = a[pa.position][pa.lane];
          const i32* y = &b[pb.position][pb.lane];
          for (int l = 0; l < kColumns; ++l) sum[l] += static_cast<u32>(x * y[l]);
        }
        std::memcpy(o.d + 64 * at.position + at.lane, sum, sizeof sum);
      }
    }
  }
}

}  // namespace instinct::INSTINCT_LEVEL
