// Packing booleans into bits.
#pragma once

#include "wavefire/tensor_view.h"

namespace wavefire {

enum class BitOrder { big, little };

/// x b1 or u8 [n] (non-zero is 1), out u8 [(n + 7) / 8]. As numpy.packbits.
void packbits(const TensorView& x, BitOrder order, const TensorView& out);

/// Packs each segment [indptr[i], indptr[i + 1]) on its own. indptr and out_indptr i32 [segments +
/// 1]; out_indptr receives the byte offsets, out u8 [out_indptr[segments]]. What they hold on a GPU
/// is not checked; nothing outside of the tensors is read or written.
void segment_packbits_indptr(const TensorView& indptr, const TensorView& out_indptr);
void segment_packbits(const TensorView& x, const TensorView& indptr, BitOrder order,
                      const TensorView& out, const TensorView& out_indptr);

}  // namespace wavefire
