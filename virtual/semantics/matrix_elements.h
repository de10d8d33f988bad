// Operands of matrix instructions as numbers: where each element lives, and what it is.
#pragma once

#include "virtual/semantics/fp8.h"
#include "virtual/semantics/matrix.h"
#include "virtual/semantics/matrix_sum.h"

namespace instinct::INSTINCT_LEVEL {

constexpr int bits_of_element(Element element) {
  switch (element) {
    case Element::f64: return 64;
    case Element::f32:
    case Element::xf32: return 32;
    case Element::f16:
    case Element::bf16: return 16;
    case Element::fp8:
    case Element::bf8:
    case Element::i8:
    case Element::f8f6f4: return 8;
  }
  return 0;
}

// The shape of one instruction, as a template argument.
struct Shape {
  int m, n, k, blocks;
  Element a, b;
  bool ocp = false;     // fp8 and bf8 are those of gfx950
  bool sparse = false;  // A keeps two of four along k

  [[gnu::always_inline]] constexpr int lane_groups(int side) const { return 64 / (side * blocks); }
  // Elements of a lane, densely.
  [[gnu::always_inline]] constexpr int per_lane(int side) const { return k / lane_groups(side); }
};

// Where element k of row i of A is (of column i of B: likewise): lane and position in the lane.
// Lanes hold consecutive k, except 8-bit elements of f8f6f4 (`chunked`): 16, then 16 more from the
// second half of k.
struct Place {
  int lane, position;
};
[[gnu::always_inline]] constexpr Place place_of(const Shape& s, int side, int block, int i, int k,
                                                bool chunked) {
  if (chunked && s.a == Element::f8f6f4) {
    const int half = s.k / 2;
    return {i + side * (k % half / 16), k % half % 16 + 16 * (k / half)};
  }
  const int per = s.per_lane(side);
  return {i + side * (block + s.blocks * (k / per)), k % per};
}
// The same as an index into Elements, of block 0 and row 0; i + side * block is to be added.
[[gnu::always_inline]] constexpr int offset_of(const Shape& s, int side, int k, bool chunked) {
  const Place place = place_of(s, side, 0, 0, k, chunked);
  return 64 * place.position + place.lane;
}
// The register and lane of D[block][i][j].
[[gnu::always_inline]] constexpr Place place_of_result(const Shape& s, int block, int i, int j) {
  if (s.a == Element::f64) {
    return {16 * (i % 4) + (s.blocks > 1 ? s.n * block : 0) + j, 2 * (i / 4)};
  }
  if (s.m == 4) return {4 * block + j, i};
  const int groups = 64 / s.n;  // lanes of one row of registers hold so many rows of D
  return {s.n * (i / 4 % groups) + j, s.m * s.n / 64 * block + 4 * (i / (4 * groups)) + i % 4};
}

// Every element of an operand, by position and lane.
template <int position_count>
struct Elements {
  alignas(64) float value[position_count][64];
  alignas(64) i32 exponent[position_count][64];
  // Extremes of the exponents of what is not zero, by lane modulo vector_width.
  Ints high = all(2 * zero_exponent), low = all(special_exponent);

  void set_exponents(int position, i32 lowest) {
    for (int l = 0; l < 64; l += vector_width) {
      const Words bits = load_vector<Words>(&value[position][l]);
      const Ints field = reinterpret_cast<Ints>(bits >> 23 & 0xffu);
      const Ints zero = reinterpret_cast<Ints>(bits << 1 == 0);
      Ints e = larger(field - 127, all(lowest));
      e = select<Ints>(field == 255, all(special_exponent), e);
      high = select<Ints>(zero, high, larger(high, e));
      low = select<Ints>(zero, low, e < low ? e : low);
      store_vector(&exponent[position][l], select<Ints>(zero, all(zero_exponent), e));
    }
  }
  i32 most() const {
    i32 result = high[0];
    for (int l = 1; l < vector_width; ++l) result = high[l] > result ? high[l] : result;
    return result;
  }
  i32 least() const {
    i32 result = low[0];
    for (int l = 1; l < vector_width; ++l) result = low[l] < result ? low[l] : result;
    return result;
  }
};

// Words of a register to positions.
template <Format format, class E>
inline void decode_halves(E& out, const u32* rows, int count) {
  for (int p = 0; p < count; p += 2) {
    const u32* words = rows + 64 * (p / 2);
    for (int l = 0; l < 64; ++l) {
      if constexpr (format.bias == 127) {
        out.value[p][l] = float_of(words[l] << 16);
        out.value[p + 1][l] = float_of(words[l] & 0xffff0000u);
      } else {
        out.value[p][l] = widen<format>(words[l] & 0xffffu);
        out.value[p + 1][l] = widen<format>(words[l] >> 16);
      }
    }
  }
  for (int p = 0; p < count; ++p) out.set_exponents(p, 1 - format.bias);
}
template <Format format, class E>
inline void decode_bytes(E& out, const u32* rows, int count) {
  for (int p = 0; p < count; ++p) {
    const u32* words = rows + 64 * (p / 4);
    for (int l = 0; l < 64; ++l) {
      out.value[p][l] = widen<format>(words[l] >> (8 * (p % 4)) & 0xffu);
    }
    out.set_exponents(p, 1 - format.bias);
  }
}
// Elements of six or four bits, 32 in a lane, across words.
template <Format format, class E>
inline void decode_bits(E& out, const u32* rows) {
  constexpr int element_bits = format.bits();
  for (int p = 0; p < 32; ++p) {
    const int bit = element_bits * p, shift = bit % 32;
    const u32* low = rows + 64 * (bit / 32);
    const bool crosses = shift + element_bits > 32;
    for (int l = 0; l < 64; ++l) {
      const u64 pair = low[l] | (crosses ? u64{low[64 + l]} << 32 : 0);
      out.value[p][l] = widen<format>(static_cast<u32>(pair >> shift) & ((1u << element_bits) - 1));
    }
    out.set_exponents(p, 1 - format.bias);
  }
}
// xf32 has the upper 19 bits of f32.
template <class E>
inline void decode_xf32(E& out, const u32* rows, int count) {
  for (int p = 0; p < count; ++p) {
    for (int l = 0; l < 64; ++l) out.value[p][l] = float_of(rows[64 * p + l] & 0xffffe000u);
    out.set_exponents(p, -126);
  }
}

template <Element element_type, bool is_ocp, class E>
inline void decode(E& out, const u32* rows, int count) {
  if constexpr (element_type == Element::f16) {
    decode_halves<f16_format>(out, rows, count);
  } else if constexpr (element_type == Element::bf16) {
    decode_halves<bf16_format>(out, rows, count);
  } else if constexpr (element_type == Element::xf32) {
    decode_xf32(out, rows, count);
  } else if constexpr (element_type == Element::fp8) {
    decode_bytes<fp8_format<is_ocp>>(out, rows, count);
  } else {
    static_assert(element_type == Element::bf8);
    decode_bytes<bf8_format<is_ocp>>(out, rows, count);
  }
}
template <class E>
inline void decode_narrow(E& out, const u32* rows, Narrow format) {
  switch (format) {
    case Narrow::fp8: return decode_bytes<e4m3_format>(out, rows, 32);
    case Narrow::bf8: return decode_bytes<e5m2_format>(out, rows, 32);
    case Narrow::fp6: return decode_bits<e2m3_format>(out, rows);
    case Narrow::bf6: return decode_bits<e3m2_format>(out, rows);
    case Narrow::fp4: return decode_bits<e2m1_format>(out, rows);
  }
}

// Two of four along k: the kept ones spread to where their indices say. `index` has two bits for
// each kept element of the lane, from the set that abid chooses ("CDNA3 ISA", "Sparse matrices").
template <int kept_count>
inline void spread(Elements<2 * kept_count>& out, const Elements<kept_count>& kept,
                   const u32* index, int set) {
  for (int p = 0; p < 2 * kept_count; ++p) {
    for (int l = 0; l < 64; ++l) {
      out.value[p][l] = 0.0f;
      out.exponent[p][l] = zero_exponent;
    }
  }
  out.high = kept.high;
  out.low = kept.low;
  for (int l = 0; l < 64; ++l) {
    const u64 bits = u64{index[l]} >> (2 * kept_count * set % 32);
    for (int p = 0; p < kept_count; ++p) {
      const int to = 4 * (p / 2) + static_cast<int>(bits >> (2 * p) & 3);
      out.value[to][l] = kept.value[p][l];
      out.exponent[to][l] = kept.exponent[p][l];
    }
  }
}

// The block of A that block `block` multiplies: 2^cbsz blocks share the one that abid names ("CDNA3
// ISA", CBSZ and ABID).
inline int broadcast_block(int block, const MatrixOperands& o, int blocks) {
  const int group = (1 << o.cbsz) - 1;
  return ((block & ~group) + o.abid) % blocks;
}
// The lane whose B lane `lane` takes ("CDNA3 ISA", BLGP).
inline int pattern_lane(int lane, u8 blgp) {
  switch (blgp) {
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7: return lane % 16 + 16 * (blgp - 4);
    default: return lane;
  }
}
// B's rows with that pattern applied, in `scratch` if there is one.
inline const u32* patterned(const MatrixOperands& o, int rows, u32* scratch) {
  if (o.blgp == 0) return o.b;
  for (int r = 0; r < rows; ++r) {
    for (int l = 0; l < 64; ++l) scratch[64 * r + l] = o.b[64 * r + pattern_lane(l, o.blgp)];
  }
  return scratch;
}

}  // namespace instinct::INSTINCT_LEVEL
