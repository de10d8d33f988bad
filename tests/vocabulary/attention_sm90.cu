// The attention kernel on sm_90a: what the generator will emit.
#include "tile/sm90/arch.h"

#include "attention/attend.h"
#include "schedule/warp_specialized.h"

namespace wavefire::attention {

constexpr Config config = {.operand = DType::bf16,
                           .tile_rows = 64,
                           .tile_kv = 64,
                           .head_dim_qk = 128,
                           .head_dim_vo = 128,
                           .stages = 2,
                           .rope = false,
                           .tensor_maps = true};
using AttentionSteps = Steps<tile::Sm90, config>;

extern "C" WF_GLOBAL void __launch_bounds__(tile::Sm90::block_threads, 1)
    attention_sm90(const __grid_constant__ LaunchParams<tile::Sm90::Tail> params) {
  extern __shared__ __align__(1024) u8 memory[];
  auto& shared = *reinterpret_cast<AttentionSteps::Shared*>(memory);
  tile::Sm90::init(shared.barriers);
  AttentionSteps steps(params, shared);
  attend<tile::Sm90, schedule::WarpSpecialized<tile::Sm90>>(params, tile::Sm90::worker(), steps);
}

}  // namespace wavefire::attention
