// Attention in bf16 with heads of 128: a workgroup of four waves has 64 queries, 16 for each wave,
// and keys and values pass through LDS, 32 at a time. Scores are computed transposed, so that their
// registers are those of the second product's factor.
#include "device.h"

using Short4 = __attribute__((__vector_size__(8))) short;
using Float4 = __attribute__((__vector_size__(16))) float;

constexpr int head_dim = 128, tile = 32, row_stride = head_dim + 8;  // of LDS, against conflicts

DEVICE inline short bf16_of(float x) { return bits<short>((__bf16)x); }

DEVICE inline float exchange(float x, uint distance) {
  const int from = (int)(lane() ^ distance) * 4;
  return bits<float>(__builtin_amdgcn_ds_bpermute(from, bits<int>(x)));
}

// Copies 32 rows to LDS, 16 elements for each thread.
DEVICE inline void stage(short* to, const short* from) {
  const uint row = thread() / 8, column = thread() % 8 * 16;
  for (uint half = 0; half < 2; ++half) {
    *(uint4*)(to + row * row_stride + column + 8 * half) =
        *(const uint4*)(from + row * head_dim + column + 8 * half);
  }
}

// `keys` is a multiple of 32; `scale` includes log2(e).
GLOBAL_KERNEL THREADS(256) void attention(const short* q, const short* k, const short* v, float* o,
                                          int keys, float scale) {
  SHARED short k_tile[tile * row_stride], v_tile[tile * row_stride];
  const uint column = lane() % 16, row = lane() / 16 * 4;
  const uint query = group() * 64 + thread() / 64 * 16 + column;
  Short4 q_part[head_dim / 16];
  for (int i = 0; i < head_dim / 16; ++i) {
    q_part[i] = *(const Short4*)(q + query * head_dim + 16 * i + row);
  }
  Float4 sum[head_dim / 16] = {};
  float largest = -__builtin_inff(), total = 0;
  for (int start = 0; start < keys; start += tile) {
    barrier();
    stage(k_tile, k + start * head_dim);
    stage(v_tile, v + start * head_dim);
    barrier();
    Float4 score[2] = {};
    for (int i = 0; i < head_dim / 16; ++i) {
      for (int part = 0; part < 2; ++part) {
        const Short4 key =
            *(const Short4*)(k_tile + (16 * part + column) * row_stride + 16 * i + row);
        score[part] =
            __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(key, q_part[i], score[part], 0, 0, 0);
      }
    }
    float most = largest;
    for (int part = 0; part < 2; ++part) {
      for (int i = 0; i < 4; ++i) most = __builtin_fmaxf(most, score[part][i] * scale);
    }
    most = __builtin_fmaxf(most, exchange(most, 16));
    most = __builtin_fmaxf(most, exchange(most, 32));
    const float shrink = __builtin_amdgcn_exp2f(largest - most);
    largest = most;
    total *= shrink;
    Short4 weight[2];
    for (int part = 0; part < 2; ++part) {
      for (int i = 0; i < 4; ++i) {
        const float x = score[part][i];
        const float p = __builtin_amdgcn_exp2f(x * scale - most);
        total += p;
        weight[part][i] = bf16_of(p);
      }
    }
    for (int i = 0; i < head_dim / 16; ++i) {
      sum[i] *= shrink;
      for (int part = 0; part < 2; ++part) {
        Short4 value;
        for (int j = 0; j < 4; ++j) {
          value[j] = v_tile[(16 * part + row + j) * row_stride + 16 * i + column];
        }
        sum[i] = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(value, weight[part], sum[i], 0, 0, 0);
      }
    }
  }
  total += exchange(total, 16);
  total += exchange(total, 32);
  const float scale_of_sum = 1.0f / total;
  for (int i = 0; i < head_dim / 16; ++i) {
    *(Float4*)(o + query * head_dim + 16 * i + row) = sum[i] * scale_of_sum;
  }
}
