// Where operations run, and launches on GPUs.
#pragma once

#include "core/check.h"
#include "generate/store.h"
#include "wavefire/device.h"

namespace wavefire::ops {

/// Where an operation runs: on the device of its tensors.
struct Place {
  Device device;
  device::Gpu* gpu = nullptr;  // null: on the CPU

  bool on_cpu() const { return gpu == nullptr; }
  /// The caller's stream.
  device::Stream stream() const { return {*gpu, current_stream(device)}; }
};

/// All defined tensors must be on one device. Throws `Error` (invalid_argument) with the first that
/// is elsewhere than those before it. Tensors of the host are where `use_device` put them.
Place place_of(std::string_view operation, std::initializer_list<core::Argument> tensors);

/// Blocks for `rows` rows. Throws `Error` (invalid_argument) for more than a launch can have.
unsigned blocks_for(std::int64_t rows, int rows_a_block);

/// Puts the kernel of `config` on the current stream, with a team of its blocks for each row.
/// `Launch` is what the kernel's entry takes.
template <class Config, class Launch>
void launch_rows(const Place& place, const Config& config, std::int64_t rows,
                 const Launch& launch) {
  const unsigned blocks = blocks_for(rows, config.rows.teams);
  generate::kernel_on(*place.gpu, config).launch(blocks, launch, place.stream());
}

}  // namespace wavefire::ops
