// What the processor is called and how large it is.
#pragma once

#include "wavefire/device.h"

namespace wavefire::cpu {

DeviceInfo device_info();

}  // namespace wavefire::cpu
