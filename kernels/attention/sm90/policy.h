// How attention of many rows is tiled on sm_90a (docs/kernels/attention-sm90.md).
#pragma once

#include "attention/config.h"

WF_NAMESPACE_BEGIN(attention)

/// Two warpgroups compute, 64 rows each. A lane's registers hold its shares of the scores, of their
/// weights and of the output; shared memory the queries and two tiles of K and of V.
constexpr Config warpgroups_config_of(DType operand, int head_dim) {
  return {.operand = operand,
          .element_bytes = size_of(operand),
          .tile_rows = 128,
          .tile_kv = head_dim > 128 ? 64 : 128,
          .head_dim_qk = head_dim,
          .head_dim_vo = head_dim,
          .stages = 2,
          .k_segments = 1,
          .custom_mask = false,
          .rope = false,
          .tensor_maps = true};
}

WF_NAMESPACE_END
