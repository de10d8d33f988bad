// What an attention kernel is given. Plain data, the same on every machine; an architecture adds
// its own tail (TMA tensor maps, buffer descriptors) behind it: `LaunchParams<Tail>`.
#pragma once

#include "attention/problem.h"
#include "wavefire/dtype.h"

namespace wavefire::attention {

/// Rows of a KV tensor. Strides are in elements; the last dimension is contiguous.
/// Paged: element (page, slot, head, d). Ragged: `stride_page` is unused and row j of a request is
/// row `request.kv_begin + j`.
struct KvTensor {
  const void* data = nullptr;
  i64 stride_page = 0;
  i64 stride_token = 0;
  i64 stride_head = 0;
  i32 dims = 0;  // elements of a row that this tensor provides
};

struct Params {
  // Query [tokens, num_qo_heads, head_dim_qk] and output [tokens, num_qo_heads, head_dim_vo].
  const void* q = nullptr;
  void* o = nullptr;
  float* lse = nullptr;  // [tokens, num_qo_heads], base 2; nullptr: not wanted
  i64 q_stride_token = 0, q_stride_head = 0;
  i64 o_stride_token = 0, o_stride_head = 0;
  i64 lse_stride_token = 0, lse_stride_head = 0;

  // Keys come in up to two segments whose dims add up to head_dim_qk (MLA: latent and rope part).
  KvTensor k[2];
  KvTensor v;
  i32 k_segments = 1;
  i32 v_aliases_k = 0;  // 1: v is the first head_dim_vo elements of segment 0

  const i32* page_table = nullptr;  // [entries]; nullptr: ragged
  i64 page_table_size = 0;          // entries; an index outside is clamped
  i64 num_pages = 0;                // pages of the pool; a page outside is clamped
  i32 page_size = 1;                // tokens a page

  const Request* requests = nullptr;  // [batch]
  const WorkItem* items = nullptr;    // [item_count]
  const i32* worker_begin = nullptr;  // [workers + 1]
  const Join* joins = nullptr;        // [join_count]
  i32* join_arrivals = nullptr;       // [join_count], zero before and after a launch
  float* partial_o = nullptr;         // [partial_rows, head_dim_vo]
  float* partial_lse = nullptr;       // [partial_rows], base 2
  i32 workers = 0;
  i32 heads_per_item = 1;  // divides num_kv_heads; more than 1 only where the kernel takes bundles

  i32 num_qo_heads = 0, num_kv_heads = 0, group = 1;
  i32 head_dim_qk = 0, head_dim_vo = 0;
  DType q_dtype = DType::bf16, kv_dtype = DType::bf16, o_dtype = DType::bf16;

  // logit = soft_cap(q . k * sm_scale * q_scale[head] * k_scale[kv_head]) + alibi; o *=
  // v_scale[kv_head]
  float sm_scale = 1.f;  // per-tensor scales of q and k are already in it
  float v_scale = 1.f;
  const float* q_head_scale = nullptr;  // [num_qo_heads] or nullptr
  const float* k_head_scale = nullptr;  // [num_kv_heads] or nullptr
  const float* v_head_scale = nullptr;  // [num_kv_heads] or nullptr
  float soft_cap = 0.f;                 // 0: none; else cap * tanh(logit / cap)
  const float* alibi_slopes = nullptr;  // [num_qo_heads] or nullptr: + slope * (kv - q position)
  const float* sinks = nullptr;         // [num_qo_heads], natural units, or nullptr
  const float* rope_frequency =
      nullptr;  // [head_dim_qk / 2] radians a position, or nullptr; half-split

  const u8* custom_mask =
      nullptr;  // packed bits, little endian, rows of kv_len bits; nullptr: none
  i32 causal = 0;
  i64 window_left = -1;
};

template <class Tail>
struct LaunchParams : Params {
  Tail tail;
};

}  // namespace wavefire::attention
