#include "wavefire/version.h"

namespace wavefire {

const char* version() { return WAVEFIRE_VERSION; }

}  // namespace wavefire
