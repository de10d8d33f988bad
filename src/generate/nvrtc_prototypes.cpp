// Compiled where the build finds NVIDIA's nvrtc.h: the table of runtime_functions.h agrees with it.
#include <nvrtc.h>

#include "device/prototypes.h"
#include "generate/runtime_functions.h"

namespace wavefire::generate {
namespace {

using device::prototype;
using F = RtcFunctions;

constexpr std::string_view nvrtc_prototypes[] = {
    prototype<&F::version, &nvrtcVersion>("nvrtcVersion"),
    prototype<&F::error_string, &nvrtcGetErrorString>("nvrtcGetErrorString"),
    prototype<&F::create, &nvrtcCreateProgram>("nvrtcCreateProgram"),
    prototype<&F::destroy, &nvrtcDestroyProgram>("nvrtcDestroyProgram"),
    prototype<&F::compile, &nvrtcCompileProgram>("nvrtcCompileProgram"),
    prototype<&F::log_size, &nvrtcGetProgramLogSize>("nvrtcGetProgramLogSize"),
    prototype<&F::log, &nvrtcGetProgramLog>("nvrtcGetProgramLog"),
    prototype<&F::object_size, &nvrtcGetCUBINSize>("nvrtcGetCUBINSize"),
    prototype<&F::object, &nvrtcGetCUBIN>("nvrtcGetCUBIN"),
    prototype<&F::ptx_size, &nvrtcGetPTXSize>("nvrtcGetPTXSize"),
    prototype<&F::ptx, &nvrtcGetPTX>("nvrtcGetPTX"),
};
static_assert(device::covers(nvrtc_prototypes, nvrtc_symbols));
static_assert(NVRTC_SUCCESS == 0);

}  // namespace
}  // namespace wavefire::generate
