// The functions of NVRTC and hipRTC, by name. A build compares them with the vendors' headers where
// it finds them (nvrtc_prototypes.cpp, hiprtc_prototypes.cpp).
#pragma once

#include <cstddef>

#include "device/library.h"

namespace wavefire::generate {

/// Programs are opaque pointers, results are enumerations whose 0 is success.
struct RtcFunctions {
  using Program = void*;
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*create)(Program* program, const char* source, const char* name, int header_count,
                const char* const* headers, const char* const* include_names) = nullptr;
  int (*destroy)(Program* program) = nullptr;
  int (*compile)(Program program, int option_count, const char* const* options) = nullptr;
  int (*log_size)(Program program, std::size_t* bytes) = nullptr;
  int (*log)(Program program, char* text) = nullptr;
  int (*object_size)(Program program, std::size_t* bytes) = nullptr;
  int (*object)(Program program, char* bytes) = nullptr;
  int (*ptx_size)(Program program, std::size_t* bytes) = nullptr;  // NVRTC only
  int (*ptx)(Program program, char* bytes) = nullptr;
};

inline constexpr device::Symbol<RtcFunctions> nvrtc_symbols[] = {
    device::symbol<&RtcFunctions::version>("nvrtcVersion"),
    device::symbol<&RtcFunctions::error_string>("nvrtcGetErrorString"),
    device::symbol<&RtcFunctions::create>("nvrtcCreateProgram"),
    device::symbol<&RtcFunctions::destroy>("nvrtcDestroyProgram"),
    device::symbol<&RtcFunctions::compile>("nvrtcCompileProgram"),
    device::symbol<&RtcFunctions::log_size>("nvrtcGetProgramLogSize"),
    device::symbol<&RtcFunctions::log>("nvrtcGetProgramLog"),
    device::symbol<&RtcFunctions::object_size>("nvrtcGetCUBINSize"),
    device::symbol<&RtcFunctions::object>("nvrtcGetCUBIN"),
    device::symbol<&RtcFunctions::ptx_size>("nvrtcGetPTXSize"),
    device::symbol<&RtcFunctions::ptx>("nvrtcGetPTX"),
};

inline constexpr device::Symbol<RtcFunctions> hiprtc_symbols[] = {
    device::symbol<&RtcFunctions::version>("hiprtcVersion"),
    device::symbol<&RtcFunctions::error_string>("hiprtcGetErrorString"),
    device::symbol<&RtcFunctions::create>("hiprtcCreateProgram"),
    device::symbol<&RtcFunctions::destroy>("hiprtcDestroyProgram"),
    device::symbol<&RtcFunctions::compile>("hiprtcCompileProgram"),
    device::symbol<&RtcFunctions::log_size>("hiprtcGetProgramLogSize"),
    device::symbol<&RtcFunctions::log>("hiprtcGetProgramLog"),
    device::symbol<&RtcFunctions::object_size>("hiprtcGetCodeSize"),
    device::symbol<&RtcFunctions::object>("hiprtcGetCode"),
};

}  // namespace wavefire::generate
