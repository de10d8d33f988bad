// The row kernels that check_rows and measure_rows run.
#include "tile/sm80/rows.h"

#include "activation/entry.h"
#include "kv_cache/entry.h"
#include "merge/entry.h"
#include "norm/entry.h"
#include "rope/entry.h"

namespace wavefire {

using Blocks = tile::RowTeams<256, 1>;
using Norm4096 = tile::RowTeams<256, 1, 2>;  // rows of up to so many values
using Norm8192 = tile::RowTeams<512, 1, 2>;
using Norm256 = tile::RowTeams<32, 8, 1>;
using Warps = tile::RowTeams<32, 8>;
using Small = tile::RowTeams<64, 1>;

#define WF_KERNEL(name, ...)                                         \
  using Entry_##name = __VA_ARGS__;                                  \
  extern "C" WF_GLOBAL void __launch_bounds__(Entry_##name::threads) \
      name(const __grid_constant__ Entry_##name::Launch params) {    \
    Entry_##name::run(params);                                       \
  }

WF_KERNEL(rms_norm_bfloat16, norm::Entry<Norm4096, norm::Kind::rms, DType::bf16, DType::bf16>)
WF_KERNEL(rms_norm_bfloat16_wide, norm::Entry<Norm8192, norm::Kind::rms, DType::bf16, DType::bf16>)
WF_KERNEL(rms_norm_bfloat16_warps, norm::Entry<Norm256, norm::Kind::rms, DType::bf16, DType::bf16>)
WF_KERNEL(rms_norm_float32, norm::Entry<Norm8192, norm::Kind::rms, DType::f32, DType::f32>)
WF_KERNEL(layer_norm_float16, norm::Entry<Norm4096, norm::Kind::layer, DType::f16, DType::f32>)
WF_KERNEL(silu_bfloat16, activation::Entry<Blocks, activation::Kind::silu, DType::bf16>)
WF_KERNEL(gelu_float32, activation::Entry<Blocks, activation::Kind::gelu, DType::f32>)
WF_KERNEL(gelu_tanh_float16, activation::Entry<Blocks, activation::Kind::gelu_tanh, DType::f16>)
WF_KERNEL(rotate_heads, rope::Entry<Blocks>)
WF_KERNEL(append_tokens, kv_cache::AppendEntry<Small>)
WF_KERNEL(merge_bfloat16, merge::Entry<Warps, DType::bf16, DType::bf16>)
WF_KERNEL(merge_float32, merge::Entry<Warps, DType::f32, DType::f32>)

}  // namespace wavefire
