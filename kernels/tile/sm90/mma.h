// Matrix products by wgmma: the left operand in registers, the right one in slices of shared
// memory. They run until `wgmma_wait`.
#pragma once

#include "tile/fragment.h"
#include "tile/sm80/mma.h"
#include "tile/sm90/shared.h"

WF_NAMESPACE_BEGIN(tile)

/// c = a b^T; b holds the columns of c as rows, contiguous along the sum.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void wgmma_abt(Accumulator& c, const Operand& a, const Tile& b) {
  static_assert(Tile::rows == 64 && Operand::dtype == DType::bf16);
  const u32 base = isa::shared_address(b.bytes);
  isa::wgmma_fence();
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 16; ++k) {
    const u32 address = base + k / 4 * Tile::slice_bytes + k % 4 * 32;
    isa::wgmma_64x64x16_bf16<0>(c.e, a.r[k], swizzled_descriptor(address, 16, 1024), k > 0);
  }
  isa::wgmma_commit();
}

/// c += a b; b is stored with its columns contiguous.
template <class Accumulator, class Operand, class Tile>
WF_DEVICE void wgmma_ab(Accumulator& c, const Operand& a, const Tile& b) {
  static_assert(Operand::dtype == DType::bf16);
  const u32 base = isa::shared_address(b.bytes);
  isa::wgmma_fence();
  WF_UNROLL
  for (int k = 0; k < Operand::cols / 16; ++k) {
    WF_UNROLL
    for (int s = 0; s < Tile::slices; ++s) {
      const u32 address = base + s * Tile::slice_bytes + k * 16 * 128;
      isa::wgmma_64x64x16_bf16<1>(c.e + s * 32, a.r[k],
                                  swizzled_descriptor(address, Tile::slice_bytes, 1024), true);
    }
  }
  isa::wgmma_commit();
}

WF_NAMESPACE_END
