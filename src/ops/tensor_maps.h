// Tensor maps of K and V: what kernels are told whose copy engine takes whole boxes of rows.
#pragma once

#include "attention/params.h"
#include "ops/launch.h"
#include "tile/tensor_map.h"

namespace wavefire::ops {

/// For a kernel with KV tiles of `tile_kv` rows; `kv_rows` are those of tensors without pages.
/// Without maps (box_rows 0) where pages do not fit into tiles or tiles into pages, or where the
/// engine does not take the strides: such rows are gathered.
tile::KvTensorMaps kv_tensor_maps(const Place& place, const attention::Params& p, int tile_kv,
                                  std::int64_t kv_rows);

}  // namespace wavefire::ops
