// Rotary position embedding (Su et al. 2021): pair (a, b) becomes (a cos - b sin, b cos + a sin),
// with the angle position * frequency[pair]. In float32; sines and cosines once a token for all
// heads.
#pragma once

#include "math/sincos.h"
#include "rope/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(rope)

/// Cosines and sines of one position, with room for a whole element behind the end: one a pair, or,
/// for interleaved pairs that are rotated where they lie, one a dimension, sines with the sign that
/// the partner of the dimension gets.
struct Angles {
  alignas(64) float cosine[max_head_dim + 64];
  alignas(64) float sine[max_head_dim + 64];
};

/// Stores those of the pairs from `column` on, for `Rows` to rotate by.
template <class Rows, class E>
WF_DEVICE void store_angles(const Params& p, E sine, E cosine, i64 column, int count,
                            Angles& angles) {
  using T = tile::ElementTraits<E>;
  if (tile::ElementTraits<typename Rows::Element>::width == 1 || !p.interleaved) {
    T::store(angles.sine + column, sine);
    T::store(angles.cosine + column, cosine);
    return;
  }
  alignas(64) float s[T::width], c[T::width];
  T::store(s, sine);
  T::store(c, cosine);
  WF_UNROLL
  for (int i = 0; i < T::width; ++i) {
    if (i >= count) continue;
    const i64 at = 2 * (column + i);
    angles.cosine[at] = angles.cosine[at + 1] = c[i];
    angles.sine[at] = -s[i];
    angles.sine[at + 1] = s[i];
  }
}

/// The team's lanes share the pairs.
template <class Rows>
WF_DEVICE void angles_of(const Params& p, i64 position, Angles& angles) {
  using Spread = typename Rows::Spread;
  using E = typename Spread::Element;
  const i32 pairs = p.rotary_dim / 2;
  if (p.frequency != nullptr) {
    Spread::for_columns(pairs, [&](i64 column, int count) {
      E s, c;
      math::sincos_product(tile::ElementTraits<E>::splat(static_cast<float>(position)),
                           Spread::template load<DType::f32>(p.frequency, column, count),
                           Spread::template load<DType::f32>(p.frequency_rest, column, count), s,
                           c);
      store_angles<Rows>(p, s, c, column, count, angles);
    });
  } else {
    tile::with_output_dtype(p.cos_sin_dtype, [&]<DType dtype>() {
      const char* row =
          static_cast<const char*>(p.cos_sin) + position * p.cos_sin_stride * size_of(dtype);
      const char* sines = row + i64{pairs} * size_of(dtype);
      Spread::for_columns(pairs, [&](i64 column, int count) {
        store_angles<Rows>(p, Spread::template load<dtype>(sines, column, count),
                           Spread::template load<dtype>(row, column, count), column, count, angles);
      });
    });
  }
}

template <class Rows, DType dtype>
WF_DEVICE void rotate_halves(const Params& p, const Angles& angles, const char* in, char* out) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const i64 half = i64{p.rotary_dim / 2} * size_of(dtype);
  Rows::for_columns(p.rotary_dim / 2, [&](i64 column, int count) {
    const E a = Rows::template load<dtype>(in, column, count);
    const E b = Rows::template load<dtype>(in + half, column, count);
    const E c = T::load(angles.cosine + column), s = T::load(angles.sine + column);
    Rows::template store<dtype>(out, column, count, tile::fma(a, c, -(b * s)));
    Rows::template store<dtype>(out + half, column, count, tile::fma(b, c, a * s));
  });
}

template <class Rows, DType dtype>
WF_DEVICE void rotate_neighbours(const Params& p, const Angles& angles, const char* in, char* out) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  if constexpr (T::width > 1) {
    Rows::for_columns(p.rotary_dim, [&](i64 column, int count) {
      const E v = Rows::template load<dtype>(in, column, count);
      const E c = T::load(angles.cosine + column), s = T::load(angles.sine + column);
      Rows::template store<dtype>(out, column, count, tile::fma(v, c, tile::swap_pairs(v) * s));
    });
  } else {
    Rows::for_columns(p.rotary_dim / 2, [&](i64 i, int) {
      const E a = Rows::template load<dtype>(in, 2 * i, 1);
      const E b = Rows::template load<dtype>(in, 2 * i + 1, 1);
      const E c = T::load(angles.cosine + i), s = T::load(angles.sine + i);
      Rows::template store<dtype>(out, 2 * i, 1, tile::fma(a, c, -(b * s)));
      Rows::template store<dtype>(out, 2 * i + 1, 1, tile::fma(b, c, a * s));
    });
  }
}

template <class Rows, DType dtype>
WF_DEVICE void rotate_heads(const Params& p, const Angles& angles, const Heads& group, i64 token) {
  using Part = typename Rows::Part;
  const char* in =
      static_cast<const char*>(group.in) + token * group.in_stride_token * size_of(dtype);
  char* out = static_cast<char*>(group.out) + token * group.out_stride_token * size_of(dtype);
  const i64 rotated = i64{p.rotary_dim} * size_of(dtype);
  for (i32 head = Rows::part(); head < group.heads; head += Rows::parts) {
    const char* head_in = in + head * group.in_stride_head * size_of(dtype);
    char* head_out = out + head * group.out_stride_head * size_of(dtype);
    if (p.interleaved) {
      rotate_neighbours<Part, dtype>(p, angles, head_in, head_out);
    } else {
      rotate_halves<Part, dtype>(p, angles, head_in, head_out);
    }
    if (in != out) {
      Part::copy(head_out + rotated, head_in + rotated, i64{p.head_dim} * size_of(dtype) - rotated);
    }
  }
}

WF_DEVICE i64 position_of(const Params& p, i64 token) {
  const i64 at = token * p.position_stride;
  const i64 position = p.position_dtype == DType::i64 ? static_cast<const i64*>(p.positions)[at]
                                                      : static_cast<const i32*>(p.positions)[at];
  return tile::max(tile::min(position, p.position_limit - 1), i64{0});
}

/// `angles` is memory that the team shares.
template <class Rows>
WF_DEVICE void rotate_tokens(const Params& p, i64 begin, i64 end, Angles& angles) {
  for (i64 token = begin; token < end; ++token) {
    Rows::sync();  // the angles before have been used
    angles_of<Rows>(p, position_of(p, token), angles);
    Rows::sync();
    for (const Heads& group : p.group) {
      tile::with_output_dtype(
          group.dtype, [&]<DType dtype>() { rotate_heads<Rows, dtype>(p, angles, group, token); });
    }
  }
}

WF_NAMESPACE_END
