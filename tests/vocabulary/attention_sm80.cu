// The attention kernel on sm_80: what the generator will emit.
#include "tile/sm80/arch.h"

#include "attention/attend.h"
#include "schedule/in_order.h"

namespace wavefire::attention {

constexpr Config config = {.operand = DType::bf16,
                           .tile_rows = 64,
                           .tile_kv = 64,
                           .head_dim_qk = 128,
                           .head_dim_vo = 128,
                           .stages = 2,
                           .rope = false};
using AttentionSteps = Steps<tile::Sm80, config>;

extern "C" WF_GLOBAL void __launch_bounds__(tile::Sm80::block_threads)
    attention_sm80(const __grid_constant__ LaunchParams<tile::Sm80::Tail> params) {
  extern __shared__ __align__(1024) u8 memory[];
  AttentionSteps steps(params, *reinterpret_cast<AttentionSteps::Shared*>(memory));
  attend<tile::Sm80, schedule::InOrder>(params, tile::Sm80::worker(), steps);
}

}  // namespace wavefire::attention
