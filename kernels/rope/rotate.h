// Rotary position embedding (Su et al. 2021): pair (a, b) becomes (a cos - b sin, b cos + a sin),
// with the angle position * frequency[pair]. In float32; sines and cosines once a token for all
// heads.
#pragma once

#include "math/sincos.h"
#include "rope/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(rope)

/// Cosines and sines of one position, with room for a whole element behind the end.
struct Angles {
  alignas(64) float cosine[max_head_dim / 2 + 64];
  alignas(64) float sine[max_head_dim / 2 + 64];
};

template <class Rows>
WF_DEVICE void angles_of(const Params& p, i64 position, Angles& angles) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  const i32 pairs = p.rotary_dim / 2;
  if (p.frequency != nullptr) {
    Rows::for_columns(pairs, [&](i64 column, int count) {
      E s, c;
      math::sincos_product(T::splat(static_cast<float>(position)),
                           Rows::template load<DType::f32>(p.frequency, column, count), s, c);
      T::store(angles.sine + column, s);
      T::store(angles.cosine + column, c);
    });
    return;
  }
  tile::with_output_dtype(p.cos_sin_dtype, [&]<DType dtype>() {
    const char* row =
        static_cast<const char*>(p.cos_sin) + position * p.cos_sin_stride * size_of(dtype);
    const char* sines = row + i64{pairs} * size_of(dtype);
    Rows::for_columns(pairs, [&](i64 column, int count) {
      T::store(angles.cosine + column, Rows::template load<dtype>(row, column, count));
      T::store(angles.sine + column, Rows::template load<dtype>(sines, column, count));
    });
  });
}

template <class Rows, DType dtype>
WF_DEVICE void rotate_row(const Params& p, const Angles& angles, const char* in, char* out) {
  using E = typename Rows::Element;
  using T = tile::ElementTraits<E>;
  alignas(64) float row[max_head_dim + 64];
  Rows::for_columns(p.head_dim, [&](i64 column, int count) {
    T::store(row + column, Rows::template load<dtype>(in, column, count));
  });
  const i32 pairs = p.rotary_dim / 2;
  if (p.interleaved) {
    for (i32 i = 0; i < pairs; ++i) {
      const float a = row[2 * i], b = row[2 * i + 1];
      row[2 * i] = a * angles.cosine[i] - b * angles.sine[i];
      row[2 * i + 1] = b * angles.cosine[i] + a * angles.sine[i];
    }
  } else {
    Rows::for_columns(pairs, [&](i64 column, int count) {
      float* first = row + column;
      float* second = first + pairs;
      const E a = Rows::template load<DType::f32>(first, 0, count);
      const E b = Rows::template load<DType::f32>(second, 0, count);
      const E c = T::load(angles.cosine + column), s = T::load(angles.sine + column);
      Rows::template store<DType::f32>(first, 0, count, a * c - b * s);
      Rows::template store<DType::f32>(second, 0, count, b * c + a * s);
    });
  }
  Rows::for_columns(p.head_dim, [&](i64 column, int count) {
    Rows::template store<dtype>(out, column, count,
                                Rows::template load<DType::f32>(row, column, count));
  });
}

template <class Rows>
WF_DEVICE void rotate_tokens(const Params& p, i64 begin, i64 end) {
  Angles angles;
  for (i64 token = begin; token < end; ++token) {
    angles_of<Rows>(p, p.positions[token], angles);
    for (const Heads& group : p.group) {
      tile::with_output_dtype(group.dtype, [&]<DType dtype>() {
        const char* in =
            static_cast<const char*>(group.in) + token * group.in_stride_token * size_of(dtype);
        char* out = static_cast<char*>(group.out) + token * group.out_stride_token * size_of(dtype);
        for (i32 head = 0; head < group.heads; ++head) {
          rotate_row<Rows, dtype>(p, angles, in + head * group.in_stride_head * size_of(dtype),
                                  out + head * group.out_stride_head * size_of(dtype));
        }
      });
    }
  }
}

WF_NAMESPACE_END
