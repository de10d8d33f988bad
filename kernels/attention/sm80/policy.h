// How attention is tiled on sm_80 and later.
#pragma once

#include "attention/config.h"

WF_NAMESPACE_BEGIN(attention)

/// The sizes that a head dim gets.
struct TilePolicy {
  int head_dim;  // capacity, of queries, keys and values
  int tile_rows;
  int tile_kv;
  int stages;
};

/// Few rows (decode): a team is one warp, whose sixteen rows hold a whole group of query heads, and
/// many teams on a multiprocessor keep memory busy: none waits for another. Many rows (prefill): a
/// team's warps share the tiles of K and V.
inline constexpr TilePolicy few_rows_policies[] = {
    {64, 16, 32, 3}, {128, 16, 32, 2}, {256, 16, 16, 2}};
inline constexpr TilePolicy many_rows_policies[] = {
    {64, 64, 64, 2}, {128, 64, 64, 2}, {256, 64, 32, 2}};

/// In float32, whatever the tensors hold: a warp without matrix units takes all rows, and K and V
/// as they are loaded.
inline constexpr TilePolicy float_policies[] = {
    {128, 16, 16, 1}, {256, 16, 16, 1}, {512, 16, 8, 1}};

constexpr Config float_config_of(int head_dim) {
  for (const TilePolicy& p : float_policies) {
    if (p.head_dim != head_dim) continue;
    return {.operand = DType::f32,
            .tile_rows = p.tile_rows,
            .tile_kv = p.tile_kv,
            .head_dim_qk = head_dim,
            .head_dim_vo = head_dim,
            .stages = p.stages,
            .k_segments = 1,
            .few_rows = true};
  }
  return {};
}

/// The configuration for a head dim that has a policy, with queries of 16 bits. `stored` is a
/// float8 type, or that of the queries. Products with float8 are of float16, whatever the queries
/// are.
constexpr Config config_of(DType queries, DType stored, int head_dim, bool few_rows) {
  const DType operand = is_float8(stored) ? DType::f16 : queries;
  for (const TilePolicy& p : few_rows ? few_rows_policies : many_rows_policies) {
    if (p.head_dim != head_dim) continue;
    return {.operand = operand,
            .stored = stored == queries ? Config{}.stored : stored,
            .element_bytes = size_of(stored),
            .tile_rows = p.tile_rows,
            .tile_kv = p.tile_kv,
            .head_dim_qk = head_dim,
            .head_dim_vo = head_dim,
            .stages = p.stages,
            .k_segments = 1,
            .few_rows = few_rows,
            .rope = false};
  }
  return {};
}

WF_NAMESPACE_END
