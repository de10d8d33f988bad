// The attention kernel on sm_80: what the generator will emit.
#include "tile/sm80/arch.h"

#include "attention/entry.h"
#include "attention/sm80/policy.h"
#include "schedule/in_order.h"

namespace wavefire::attention {

constexpr Config config = config_of(DType::bf16, DType::bf16, 128, false);
using Kernel = Entry<tile::Sm80For<config>, schedule::InOrder, config>;

extern "C" WF_GLOBAL void __launch_bounds__(Kernel::threads, 1)
    attention_sm80(const __grid_constant__ Kernel::Launch params) {
  extern __shared__ __align__(1024) u8 memory[];
  Kernel::run(params, memory);
}

}  // namespace wavefire::attention
