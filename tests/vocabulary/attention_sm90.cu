// The attention kernel on sm_90a: what the generator will emit.
#include "tile/sm90/arch.h"

#include "attention/entry.h"
#include "attention/sm90/policy.h"
#include "schedule/warp_specialized.h"

namespace wavefire::attention {

constexpr Config config = warpgroups_config_of(DType::bf16, 128);
using Kernel = Entry<tile::Sm90Team<config.tile_rows / 64>, schedule::WarpSpecialized, config>;

extern "C" WF_GLOBAL void __launch_bounds__(Kernel::threads, 1)
    attention_sm90(const __grid_constant__ Kernel::Launch params) {
  extern __shared__ __align__(1024) u8 memory[];
  Kernel::run(params, memory);
}

}  // namespace wavefire::attention
