// Settings of the process. Nothing else in Wavefire reads the environment.
#pragma once

#include <string>

namespace wavefire {

struct Config {
  /// WAVEFIRE_CPU_LEVEL: "auto", "scalar", "avx2" or "avx512". Forcing a level that the processor
  /// lacks is an error of the first operation.
  std::string cpu_level = "auto";
  /// WAVEFIRE_PARALLEL: "auto" (the OpenMP runtime that the process has, else threads), "openmp",
  /// "threads" or "serial".
  std::string parallel = "auto";
  /// WAVEFIRE_NUM_THREADS: most threads an operation may use; 0: as many as the runtime allows.
  int num_threads = 0;
  /// WAVEFIRE_LOG_LEVEL: "off", "warning", "info" or "debug". Lines go to the sink of logging.h.
  std::string log_level = "off";
  /// WAVEFIRE_VIRTUAL_LIBRARY: the file of the virtual Instinct, for devices "virtual:..."; empty:
  /// the one beside the library.
  std::string virtual_library;
  /// WAVEFIRE_CACHE_DIR: the folder of compiled kernels, private to its user. Default:
  /// $XDG_CACHE_HOME/wavefire/kernels, ~/.cache/wavefire/kernels.
  std::string cache_dir;
  /// WAVEFIRE_JIT: "on", or "off": kernels that are neither built in nor cached are an error.
  std::string jit = "on";
  /// WAVEFIRE_HOST_COMPILER, WAVEFIRE_NVCC, WAVEFIRE_HIP_COMPILER (programs), WAVEFIRE_NVRTC,
  /// WAVEFIRE_HIPRTC (libraries): the compilers of kernels, by name or path. Empty: the first that
  /// is found.
  std::string host_compiler, nvcc, hip_compiler, nvrtc, hiprtc;
  /// PATH: folders in which programs are looked for, separated by colons.
  std::string search_path;
};

/// The settings in force: read from the environment at the first call, unless set before. Throws
/// `Error` (invalid_argument) that names a variable with an unknown value.
const Config& config();

/// Replaces the settings. Not to be called while operations run.
void set_config(const Config& config);

/// The CPU level at which kernels run: "scalar", "avx2" or "avx512". Throws `Error` (unsupported)
/// when a level is forced that the processor lacks.
std::string active_cpu_level();

}  // namespace wavefire
