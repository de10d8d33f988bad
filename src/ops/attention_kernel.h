// Which kernel takes a request, on the CPU and on GPUs alike.
#pragma once

#include "attention/params.h"
#include "device/cpu/attention_kernels.h"
#include "ops/launch.h"
#include "wavefire/attention.h"

namespace wavefire::ops {

/// A kernel as a plan sees it: how work is cut for it, and who executes it.
struct AttentionKernel {
  const cpu::AttentionKernel* cpu = nullptr;
  const generate::LoadedKernel* gpu = nullptr;
  int tile_rows = 1, tile_kv = 1;
  int heads_per_item = 1;
  int workers = 1;
  int row_overhead = 0;      // of a KV tile, in rows: PlanTraits
  bool deals_units = false;  // PlanTraits: deal_first
  bool tensor_maps = false;  // launched with KvTensorMaps behind the parameters
  bool operator==(const AttentionKernel&) const = default;
};

/// Where attention runs for tensors of `device`: host tensors go to the virtual device, if
/// `use_device` chose one.
Place attention_place(Device device);

/// For requests of `packed_rows` rows (query tokens times group). On a GPU the first call may
/// compile. Throws `Error` (unsupported) that names the option for which a GPU has no kernel.
AttentionKernel attention_kernel(const Place& place, const AttentionOptions& options,
                                 bool custom_mask, std::int64_t packed_rows);

/// Puts a GPU's kernel on the caller's stream. `kv_rows`: of K and V without pages.
void launch(const Place& place, const AttentionKernel& kernel, const attention::Params& params,
            std::int64_t kv_rows);

}  // namespace wavefire::ops
