// Compiler builtins of CDNA. Vector and matrix instructions come through builtins only: the
// compiler inserts the wait states that the hardware needs, and inserts none for inline assembly.
#pragma once

#include "tile/element.h"
#include "wavefire/dtype.h"

WF_NAMESPACE_BEGIN(tile)

namespace isa {

WF_DEVICE int thread() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
WF_DEVICE int block() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }

WF_DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/// The value of lane `lane ^ mask` of the wave.
WF_DEVICE float shuffle_xor(float a, int mask) {
  const int address = ((thread() & 63) ^ mask) << 2;
  return __builtin_bit_cast(float,
                            __builtin_amdgcn_ds_bpermute(address, __builtin_bit_cast(int, a)));
}

WF_DEVICE float exp2(float a) { return __builtin_amdgcn_exp2f(a); }
WF_DEVICE float log2(float a) { return __builtin_amdgcn_logf(a); }
WF_DEVICE float rcp(float a) { return __builtin_amdgcn_rcpf(a); }

/// float32 to bfloat16, nearest even; NaN stays NaN.
WF_DEVICE u16 round_to_bf16(float a) {
  const u32 bits = __builtin_bit_cast(u32, a);
  const u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<u16>(a == a ? rounded : bits >> 16 | 0x40);
}
WF_DEVICE u16 round_to_f16(float a) {
  const _Float16 h = static_cast<_Float16>(a);
  return __builtin_bit_cast(u16, h);
}

}  // namespace isa

WF_NAMESPACE_END
