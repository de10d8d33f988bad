// The instruction set levels of the CPU and the kernel tables that belong to them.
#pragma once

#include "device/cpu/attention_kernels.h"
#include "device/cpu/row_kernels.h"

namespace wavefire::cpu {

enum class Level { scalar, avx2, avx512 };

const char* name_of(Level level);

/// The best level that this build and this processor have, or the one that Config forces. Throws
/// `Error` (unsupported) for a forced level that is missing.
Level active_level();

/// True when the processor multiplies pairs of bf16 (AVX512_BF16) faster than float32.
bool has_bf16_products();

const AttentionKernels& attention_kernels();
const RowKernels& row_kernels();

}  // namespace wavefire::cpu
