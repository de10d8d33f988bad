// The AVX-512 level (F, BW, VL, DQ, BF16): an element is sixteen floats, masks are predicate
// registers.
#pragma once

#include <immintrin.h>

#include "tile/cpu/operators.h"
#include "tile/element.h"
#include "tile/float8.h"

WF_NAMESPACE_BEGIN(tile)

struct Vec {
  using Lane = float;
  __m512 v;
};
struct IVec {
  using Lane = i32;
  using Unsigned = u32 __attribute__((vector_size(64)));
  i32 __attribute__((vector_size(64))) v;
};
struct Mask {
  __mmask16 v;
};
inline constexpr int vec_width = 16;

WF_DEVICE __m512i raw(IVec a) { return reinterpret_cast<__m512i>(a.v); }
WF_DEVICE IVec ints(__m512i a) { return {reinterpret_cast<decltype(IVec::v)>(a)}; }
WF_DEVICE Mask mask(int a) { return {static_cast<__mmask16>(a)}; }

WF_DEVICE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
// The second operand wins when one of them is NaN, as in the scalar forms.
WF_DEVICE Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
WF_DEVICE Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
WF_DEVICE Vec abs(Vec a) { return {_mm512_abs_ps(a.v)}; }
/// 1 / a with a relative error of up to 2^-14.
WF_DEVICE Vec reciprocal_short(Vec a) { return {_mm512_rcp14_ps(a.v)}; }
WF_DEVICE Vec sqrt(Vec a) { return {_mm512_sqrt_ps(a.v)}; }
WF_DEVICE IVec min(IVec a, IVec b) { return ints(_mm512_min_epi32(raw(a), raw(b))); }
WF_DEVICE IVec max(IVec a, IVec b) { return ints(_mm512_max_epi32(raw(a), raw(b))); }

WF_DEVICE Mask less(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
WF_DEVICE Mask less_equal(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)}; }
WF_DEVICE Mask equal(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
WF_DEVICE Mask less(IVec a, IVec b) { return {_mm512_cmplt_epi32_mask(raw(a), raw(b))}; }
WF_DEVICE Mask less_equal(IVec a, IVec b) { return {_mm512_cmple_epi32_mask(raw(a), raw(b))}; }
WF_DEVICE Mask equal(IVec a, IVec b) { return {_mm512_cmpeq_epi32_mask(raw(a), raw(b))}; }
WF_DEVICE Mask both(Mask a, Mask b) { return mask(a.v & b.v); }
WF_DEVICE Mask either(Mask a, Mask b) { return mask(a.v | b.v); }
WF_DEVICE Mask negate(Mask a) { return mask(~a.v); }
WF_DEVICE bool any(Mask a) { return a.v != 0; }
WF_DEVICE bool all(Mask a) { return a.v == 0xffff; }
WF_DEVICE Vec select(Mask keep, Vec a, Vec b) { return {_mm512_mask_blend_ps(keep.v, b.v, a.v)}; }
WF_DEVICE IVec select(Mask keep, IVec a, IVec b) {
  return ints(_mm512_mask_blend_epi32(keep.v, raw(b), raw(a)));
}

WF_DEVICE IVec round_to_int(Vec a) { return ints(_mm512_cvtps_epi32(a.v)); }
WF_DEVICE Vec to_float(IVec a) { return {_mm512_cvtepi32_ps(raw(a))}; }
WF_DEVICE IVec to_bits(Vec a) { return ints(_mm512_castps_si512(a.v)); }
WF_DEVICE Vec from_bits(IVec a) { return {_mm512_castsi512_ps(raw(a))}; }
WF_DEVICE IVec shift_right_logical(IVec a, int count) {
  return ints(_mm512_srli_epi32(raw(a), static_cast<unsigned>(count)));
}

WF_DEVICE Vec swap_pairs(Vec a) { return {_mm512_permute_ps(a.v, 0xb1)}; }

WF_DEVICE Vec split_whole(Vec x, Vec& whole) {
  const Vec rest = {_mm512_reduce_ps(x.v, 0)};  // nearest even; 0 for an infinity
  whole = {_mm512_sub_ps(x.v, rest.v)};
  return rest;
}
WF_DEVICE Vec scale_by_power(Vec a, Vec n) { return {_mm512_scalef_ps(a.v, n.v)}; }

WF_DEVICE float reduce_add(Vec a) { return _mm512_reduce_add_ps(a.v); }
WF_DEVICE float reduce_max(Vec a) { return _mm512_reduce_max_ps(a.v); }
WF_DEVICE float reduce_min(Vec a) { return _mm512_reduce_min_ps(a.v); }

template <>
struct ElementTraits<Vec> {
  static constexpr int width = vec_width;
  using Int = IVec;
  using Mask = tile::Mask;
  WF_DEVICE static Vec splat(float a) { return {_mm512_set1_ps(a)}; }
  WF_DEVICE static IVec splat_int(i32 a) { return ints(_mm512_set1_epi32(a)); }
  WF_DEVICE static IVec iota() {
    return ints(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  }
  WF_DEVICE static Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
  WF_DEVICE static void store(float* p, Vec a) { _mm512_storeu_ps(p, a.v); }
};

WF_DEVICE Vec load_f16(const void* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
WF_DEVICE Vec load_bf16(const void* p) {
  const __m256i h = _mm256_loadu_si256(static_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16))};
}
template <DType dtype>
WF_DEVICE Vec load_float8(const void* p) {
  const __m128i b = _mm_loadu_si128(static_cast<const __m128i*>(p));
  return decode_float8<Vec, dtype>(ints(_mm512_cvtepu8_epi32(b)));
}

WF_DEVICE void store_f16(void* p, Vec a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/// Sixteen bf16, nearest even, NaN stays NaN. Not vcvtneps2bf16: that flushes denormals.
WF_DEVICE IVec round_to_bf16(Vec a) {
  const IVec bits = to_bits(a);
  const IVec upper = shift_right_logical(bits, 16);
  const IVec rounded = shift_right_logical(bits + 0x7fff + (upper & 1), 16);
  return select(equal(a, a), rounded, upper | 0x40);
}
/// The same, packed: by the instruction unless there are denormals.
WF_DEVICE __m256i pack_bf16(Vec a) {
  constexpr int denormal = 0x20;
  if (__builtin_expect(_mm512_fpclass_ps_mask(a.v, denormal) == 0, 1)) {
    return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(a.v));
  }
  return _mm512_cvtepi32_epi16(raw(round_to_bf16(a)));
}
WF_DEVICE void store_bf16(void* p, Vec a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), pack_bf16(a));
}

// Stores past the caches, for results too large to stay there. `p` lies at a multiple of what is
// stored; stream_fence() orders them before what follows.
WF_DEVICE void stream_f32(void* p, Vec a) { _mm512_stream_ps(static_cast<float*>(p), a.v); }
WF_DEVICE void stream_f16(void* p, Vec a) {
  _mm256_stream_si256(static_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
WF_DEVICE void stream_bf16(void* p, Vec a) {
  _mm256_stream_si256(static_cast<__m256i*>(p), pack_bf16(a));
}
WF_DEVICE void stream_fence() { _mm_sfence(); }

// Sums in double precision.
struct Wide {
  __m512d low, high;
};
struct WideSum {
  __m512d low, high;
};
WF_DEVICE Wide widen(Vec a) {
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(a.v)),
          _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1))};
}
WF_DEVICE void add(WideSum& sum, Wide a) {
  sum.low = _mm512_add_pd(sum.low, a.low);
  sum.high = _mm512_add_pd(sum.high, a.high);
}
/// Adds the lanes of `keep`.
WF_DEVICE void add(WideSum& sum, Wide a, Mask keep) {
  sum.low = _mm512_mask_add_pd(sum.low, static_cast<__mmask8>(keep.v), sum.low, a.low);
  sum.high = _mm512_mask_add_pd(sum.high, static_cast<__mmask8>(keep.v >> 8), sum.high, a.high);
}
WF_DEVICE double total(WideSum sum) {
  return _mm512_reduce_add_pd(_mm512_add_pd(sum.low, sum.high));
}

/// Writes the lanes of `keep` one after the other and returns how many; up to a whole element is
/// overwritten. (Not vpcompressps to memory, which is slow.)
WF_DEVICE int compress_store(float* to, Vec a, Mask keep) {
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps(keep.v, a.v));
  return __builtin_popcount(keep.v);
}

/// Transposes a square block held in `vec_width` vectors.
WF_DEVICE void transpose(Vec (&a)[16]) {
  __m512 pair[16], quad[16];
  for (int i = 0; i < 16; i += 2) {
    pair[i] = _mm512_unpacklo_ps(a[i].v, a[i + 1].v);
    pair[i + 1] = _mm512_unpackhi_ps(a[i].v, a[i + 1].v);
  }
  for (int i = 0; i < 16; i += 4) {
    quad[i] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0x44);
    quad[i + 1] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0xee);
    quad[i + 2] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
    quad[i + 3] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
  }
  // quad[4 g + c] holds, in its 128-bit lane l, column 4 l + c of rows 4 g .. 4 g + 3.
  for (int c = 0; c < 4; ++c) {
    const __m512 even01 = _mm512_shuffle_f32x4(quad[c], quad[4 + c], 0x88);
    const __m512 odd01 = _mm512_shuffle_f32x4(quad[c], quad[4 + c], 0xdd);
    const __m512 even23 = _mm512_shuffle_f32x4(quad[8 + c], quad[12 + c], 0x88);
    const __m512 odd23 = _mm512_shuffle_f32x4(quad[8 + c], quad[12 + c], 0xdd);
    a[c].v = _mm512_shuffle_f32x4(even01, even23, 0x88);
    a[4 + c].v = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    a[8 + c].v = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    a[12 + c].v = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
}

/// Lane i of the result is the sum over the lanes of a[i].
WF_DEVICE Vec reduce_add_each(const Vec (&a)[16]) {
  __m512 quad[4];  // [i] lane 4 g + n: part g of the sum of a[4 i + n]
  for (int i = 0; i < 4; ++i) {
    const __m512 p = a[4 * i].v, q = a[4 * i + 1].v, r = a[4 * i + 2].v, s = a[4 * i + 3].v;
    const __m512d pq = _mm512_castps_pd(_mm512_unpacklo_ps(p, q) + _mm512_unpackhi_ps(p, q));
    const __m512d rs = _mm512_castps_pd(_mm512_unpacklo_ps(r, s) + _mm512_unpackhi_ps(r, s));
    quad[i] =
        _mm512_castpd_ps(_mm512_unpacklo_pd(pq, rs)) + _mm512_castpd_ps(_mm512_unpackhi_pd(pq, rs));
  }
  const auto halve = [](__m512 x, __m512 y) {
    return _mm512_shuffle_f32x4(x, y, 0x88) + _mm512_shuffle_f32x4(x, y, 0xdd);
  };
  return {halve(halve(quad[0], quad[1]), halve(quad[2], quad[3]))};
}

/// Two vectors of neighbours to their even and their odd elements, and back.
WF_DEVICE void deinterleave(Vec& a, Vec& b) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  const __m512 first = _mm512_permutex2var_ps(a.v, even, b.v);
  b.v = _mm512_permutex2var_ps(a.v, odd, b.v);
  a.v = first;
}
WF_DEVICE void interleave(Vec& even, Vec& odd) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high =
      _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const __m512 first = _mm512_permutex2var_ps(even.v, low, odd.v);
  odd.v = _mm512_permutex2var_ps(even.v, high, odd.v);
  even.v = first;
}

WF_DEVICE IVec load_words(const void* p) { return ints(_mm512_loadu_si512(p)); }
WF_DEVICE void store_words(u32* p, IVec a) { _mm512_storeu_si512(p, raw(a)); }
/// Sixteen 16-bit values, each in the low half of its lane.
WF_DEVICE IVec load_halves(const void* p) {
  return ints(_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p))));
}
/// Two rows of 32 16-bit columns become pairs of one column each, low half from `a`: columns 0 to
/// 15 in `a`, 16 to 31 in `b`.
WF_DEVICE void pair_rows(IVec& a, IVec& b) {
  const IVec low = ElementTraits<Vec>::iota() * 0x00010001 + 0x00200000;
  const __m512i high = raw(low + 0x00100010);
  const __m512i first = _mm512_permutex2var_epi16(raw(a), raw(low), raw(b));
  b = ints(_mm512_permutex2var_epi16(raw(a), high, raw(b)));
  a = ints(first);
}
/// c + a.low * b.low + a.high * b.high in every lane, a and b being pairs of bf16. Denormals count
/// as 0.
WF_DEVICE Vec dot_pairs(IVec a, IVec b, Vec c) {
  return {_mm512_dpbf16_ps(c.v, reinterpret_cast<__m512bh>(raw(a)),
                           reinterpret_cast<__m512bh>(raw(b)))};
}

/// Lane i of the mask is bit i.
WF_DEVICE Mask lanes_from_bits(u32 bits) { return {static_cast<__mmask16>(bits)}; }

WF_NAMESPACE_END
