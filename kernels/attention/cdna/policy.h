// How attention is tiled on CDNA.
#pragma once

#include "attention/config.h"

WF_NAMESPACE_BEGIN(attention)

/// A team is one wave for every 32 rows. Few rows (decode): they hold a whole group of query heads,
/// and several teams on a compute unit keep memory busy: none waits for another. (With a head dim
/// of 256 one wave lacks the registers for the tiles on their way.) Many rows (prefill): eight
/// waves take turns (schedule/ping_pong.h) where two of a SIMD have the registers, else four go in
/// order.
struct CdnaPolicy {
  int head_dim;  // capacity, of queries, keys and values
  int few_rows;  // tile_rows of the kernel for few rows; 0: there is none
  int few_rows_tile_kv;
  int many_rows;
  int many_rows_tile_kv;
};
/// Two stages of K and V fit into gfx942's 64 KiB of LDS.
inline constexpr CdnaPolicy cdna_policies[] = {
    {64, 32, 64, 256, 64}, {128, 32, 32, 256, 32}, {256, 0, 0, 128, 32}};

/// The configuration for a policy.
constexpr Config config_of(const CdnaPolicy& p, DType operand, bool few_rows) {
  const int rows = few_rows ? p.few_rows : p.many_rows;
  return {.operand = operand,
          .element_bytes = size_of(operand),
          .tile_rows = rows,
          .tile_kv = few_rows ? p.few_rows_tile_kv : p.many_rows_tile_kv,
          .head_dim_qk = p.head_dim,
          .head_dim_vo = p.head_dim,
          .stages = rows == 256 ? 2 : 1,
          .k_segments = 1,
          .few_rows = few_rows,
          .rope = false};
}

WF_NAMESPACE_END
