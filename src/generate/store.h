// Kernels that are loaded on GPUs, ready to be launched.
#pragma once

#include <optional>

#include "device/device.h"
#include "generate/spec.h"

namespace wavefire::generate {

struct LoadedKernel {
  device::Kernel kernel;
  unsigned threads;               // of a block
  unsigned dynamic_shared_bytes;  // of a block
  int blocks_per_multiprocessor;  // that it holds at a time

  template <class Params>
  void launch(unsigned blocks, const Params& params, const device::Stream& stream) const {
    kernel.launch({{blocks}, {threads}, dynamic_shared_bytes}, params, stream);
  }
};

/// The kernel of `config` for the portable architecture of `gpu`, or for `architecture`, to which
/// such a configuration belongs alone. The first call provides and loads it;
/// later ones look it up and allocate nothing. Kernels stay loaded as long as the process. Throws
/// `Error` (unsupported: there are none for that architecture; compile: see `provide`).
const LoadedKernel& kernel_on(device::Gpu& gpu, const KernelConfig& config,
                              std::optional<Architecture> architecture = {});

/// Whether `kernel_on` has that kernel, or where to take it from.
bool has_kernel_on(device::Gpu& gpu, const KernelConfig& config, Architecture architecture);

}  // namespace wavefire::generate
