// The attention kernels that check_attention and measure_attention run.
#include "tile/sm80/arch.h"

#include "attention/entry.h"
#include "attention/sm80/policy.h"
#include "schedule/in_order.h"

namespace wavefire::attention {

template <DType operand, int head_dim, bool few_rows>
struct Kernel {
  static constexpr Config config = config_of(operand, head_dim, few_rows);
  using Entry = attention::Entry<tile::Sm80Team<config.tile_rows / 16>, schedule::InOrder, config>;
  static_assert(Entry::shared_bytes - shared_bytes(config) < 256);
};

#define WF_KERNEL(name, operand, head_dim, few_rows)                      \
  using Entry_##name = Kernel<DType::operand, head_dim, few_rows>::Entry; \
  extern "C" WF_GLOBAL void __launch_bounds__(Entry_##name::threads, 1)   \
      name(const __grid_constant__ Entry_##name::Launch params) {         \
    extern __shared__ __align__(1024) u8 memory[];                        \
    Entry_##name::run(params, memory);                                    \
  }

WF_KERNEL(few_bfloat16_64, bf16, 64, true)
WF_KERNEL(few_bfloat16_128, bf16, 128, true)
WF_KERNEL(few_bfloat16_256, bf16, 256, true)
WF_KERNEL(few_float16_128, f16, 128, true)
WF_KERNEL(many_bfloat16_64, bf16, 64, false)
WF_KERNEL(many_bfloat16_128, bf16, 128, false)
WF_KERNEL(many_bfloat16_256, bf16, 256, false)
WF_KERNEL(many_float16_128, f16, 128, false)

}  // namespace wavefire::attention
