// The drivers and devices of this process, by name.
#pragma once

#include <string_view>

#include "device/device.h"
#include "wavefire/device.h"

namespace wavefire::device {

/// The driver of a kind: "cuda", "hip" or "virtual"; opened at the first call. Throws `Error`
/// (device) if there is none, at each call: a framework may bring one later.
Driver& driver_of(std::string_view kind);

/// The device of that name ("cuda:0", "cuda", "hip:1", "virtual:gfx950"), opened at the first call.
/// Throws as `use_device` does; invalid_argument for "cpu", too.
Gpu& open_gpu(std::string_view name);

/// The GPU that tensors of `device` (not the CPU) are on. Opened at the first call; from then on no
/// lock is taken and nothing allocated.
Gpu& gpu_of(Device device);

}  // namespace wavefire::device
