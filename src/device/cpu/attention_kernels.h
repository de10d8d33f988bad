// The attention kernels of the CPU levels: one table a level, filled by attention_kernels.cpp.
#pragma once

#include <cstddef>

#include "attention/params.h"

namespace wavefire::cpu {

/// One compiled kernel and the problems it takes.
struct AttentionKernel {
  const char* name;
  int tile_rows;       // packed rows that a work item covers at most
  int tile_kv;         // KV rows that it handles at a time
  int max_head_dim;    // of q, k and v
  int max_bundle;      // Params::heads_per_item may be up to this
  bool few_rows;       // laid out for a handful of packed rows (decode) rather than many
  bool bf16_products;  // multiplies in bf16: takes bf16 q and k, needs the processor's dot products
  std::size_t scratch_bytes;  // private to a worker, 64-byte aligned, zeroed once

  /// Executes the items of worker `worker` of the work list in `params`.
  void (*run)(const attention::Params& params, int worker, void* scratch);
};

struct AttentionKernels {
  int count;
  const AttentionKernel* kernels;
};

extern const AttentionKernels attention_kernels_scalar;
extern const AttentionKernels attention_kernels_avx2;
extern const AttentionKernels attention_kernels_avx512;

}  // namespace wavefire::cpu
