// The attention kernel on gfx950: what the generator will emit.
#include "tile/gfx950/arch.h"

#include "attention/attend.h"
#include "schedule/in_order.h"

namespace wavefire::attention {

constexpr Config config = {.operand = DType::bf16,
                           .tile_rows = 128,
                           .tile_kv = 64,
                           .head_dim_qk = 128,
                           .head_dim_vo = 128,
                           .stages = 1,
                           .rope = false};
using Arch = tile::Gfx950<4>;
using AttentionSteps = Steps<Arch, config>;

extern "C" WF_GLOBAL
    __attribute__((amdgpu_flat_work_group_size(256, 256), amdgpu_waves_per_eu(1, 1))) void
    attention_gfx950(const LaunchParams<Arch::Tail> params) {
  WF_SHARED static AttentionSteps::Shared shared;
  AttentionSteps steps(params, shared);
  attend<Arch, schedule::InOrder>(params, Arch::worker(), steps);
}

}  // namespace wavefire::attention
