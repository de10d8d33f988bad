// What is fixed when an attention kernel is compiled. The same struct names the kernel in logs,
// tests and caches.
#pragma once

#include "tile/target.h"
#include "wavefire/dtype.h"

WF_NAMESPACE_BEGIN(attention)

struct Config {
  DType operand = DType::f32;  // of the matrix operands: q, k, p, v
  DType stored = DType::f32;   // a float8 type: K and V are widened from it; f32: as `operand` says
  int element_bytes = 0;       // of k and v; 0: read from the parameters
  int tile_rows = 64;          // packed query rows an item covers at most
  int tile_kv = 64;            // KV rows a step covers
  int head_dim_qk = 128;       // capacities; a problem may have less
  int head_dim_vo = 128;
  int stages = 1;         // KV tiles in flight
  int bundle = 1;         // KV heads that an item may cover
  int k_segments = 2;     // most parts that keys may come in
  bool few_rows = false;  // lay K out for a handful of rows (decode) instead of many (prefill)
  // Features compiled in; each is tested at run time as well.
  bool window = true;
  bool custom_mask = true;
  bool soft_cap = true;
  bool alibi = true;
  bool rope = true;
  bool head_scales = true;
  bool tensor_maps = false;  // K and V pages arrive by the copy engine's tensor maps

  /// Of p and v. Every float8 value is a float16, and weights are at most 1.
  constexpr DType weight_operand() const { return is_float8(stored) ? DType::f16 : operand; }
  constexpr DType kv_dtype() const { return is_float8(stored) ? stored : operand; }

  bool operator==(const Config&) const = default;
};

WF_NAMESPACE_END
