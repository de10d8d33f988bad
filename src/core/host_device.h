// The device that works on tensors of the host.
#pragma once

#include <string>

namespace wavefire::core {

/// "cpu", or the id of a virtual device that takes the host's tensors instead.
const std::string& host_device();
/// Not to be called while operations run.
void set_host_device(std::string id);

}  // namespace wavefire::core
