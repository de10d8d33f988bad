// Compiled where the build finds AMD's hiprtc.h: the table of runtime_functions.h agrees with it.
#define __HIP_PLATFORM_AMD__  // NOLINT(bugprone-reserved-identifier): AMD's headers ask for it
#include <hip/hiprtc.h>

#include "device/prototypes.h"
#include "generate/runtime_functions.h"

namespace wavefire::generate {
namespace {

using device::prototype;
using F = RtcFunctions;

constexpr std::string_view hiprtc_prototypes[] = {
    prototype<&F::version, &hiprtcVersion>("hiprtcVersion"),
    prototype<&F::error_string, &hiprtcGetErrorString>("hiprtcGetErrorString"),
    prototype<&F::create, &hiprtcCreateProgram>("hiprtcCreateProgram"),
    prototype<&F::destroy, &hiprtcDestroyProgram>("hiprtcDestroyProgram"),
    prototype<&F::compile, &hiprtcCompileProgram>("hiprtcCompileProgram"),
    prototype<&F::log_size, &hiprtcGetProgramLogSize>("hiprtcGetProgramLogSize"),
    prototype<&F::log, &hiprtcGetProgramLog>("hiprtcGetProgramLog"),
    prototype<&F::object_size, &hiprtcGetCodeSize>("hiprtcGetCodeSize"),
    prototype<&F::object, &hiprtcGetCode>("hiprtcGetCode"),
};
static_assert(device::covers(hiprtc_prototypes, hiprtc_symbols));
static_assert(HIPRTC_SUCCESS == 0);

}  // namespace
}  // namespace wavefire::generate
