# The tables of functions that are looked up at run time (drivers, run-time compilers), compared
# with the vendors' headers where there are any: units that only have to compile. Nothing of them
# goes into the library.
set(cuda_hints $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda)
set(rocm_hints $ENV{ROCM_PATH} /opt/rocm)
# pip's NVRTC brings its header along.
if(Python_EXECUTABLE)
  cmake_path(GET Python_EXECUTABLE PARENT_PATH python_folder)
  file(GLOB pip_includes ${python_folder}/../lib/python*/site-packages/nvidia/*/include)
endif()
find_path(WAVEFIRE_CUDA_INCLUDE cuda.h HINTS ${cuda_hints} PATH_SUFFIXES include)
find_path(WAVEFIRE_NVRTC_INCLUDE nvrtc.h HINTS ${cuda_hints} ${pip_includes} PATH_SUFFIXES include)
find_path(WAVEFIRE_HIP_INCLUDE hip/hip_runtime_api.h HINTS ${rocm_hints} PATH_SUFFIXES include)
find_path(WAVEFIRE_HIPRTC_INCLUDE hip/hiprtc.h HINTS ${rocm_hints} PATH_SUFFIXES include)

# wavefire_check_prototypes(<name> <source> <folder of the header, or NOTFOUND>)
function(wavefire_check_prototypes name source include)
  if(NOT include)
    return()
  endif()
  add_library(wavefire_${name}_prototypes OBJECT ${source})
  target_link_libraries(wavefire_${name}_prototypes
                        PRIVATE wavefire_internal wavefire_compile_options)
  target_include_directories(wavefire_${name}_prototypes SYSTEM PRIVATE ${include})
endfunction()
