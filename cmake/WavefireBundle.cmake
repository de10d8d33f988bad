# Kernels for GPUs that are compiled with the library: a file beside it (src/generate/bundle.h).
#
# WAVEFIRE_KERNELS: none; minimal (what tests and first steps need); common (what a wheel carries).
# The default is minimal where a CUDA compiler is. Compiled kernels are cached as at run time.
find_program(WAVEFIRE_NVCC nvcc HINTS $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda
             PATH_SUFFIXES bin DOC "The CUDA compiler of the built-in kernels")
set(default none)
if(WAVEFIRE_NVCC)
  set(default minimal)
endif()
set(WAVEFIRE_KERNELS ${default} CACHE STRING "GPU kernels compiled ahead: none, minimal, common")
set_property(CACHE WAVEFIRE_KERNELS PROPERTY STRINGS none minimal common)
# sm90 includes the kernels of sm90a; ptx serves every GPU from sm_80 on, which compiles it itself.
set(WAVEFIRE_KERNEL_ARCHITECTURES sm80 sm90 ptx CACHE STRING "What they are compiled for")

# wavefire_add_bundle()
function(wavefire_add_bundle)
  set(file $<TARGET_FILE_DIR:wavefire>/kernels.bundle)
  if(WAVEFIRE_KERNELS STREQUAL "none")
    return()
  elseif(NOT WAVEFIRE_KERNELS MATCHES "^(minimal|common)$")
    message(FATAL_ERROR "WAVEFIRE_KERNELS is ${WAVEFIRE_KERNELS}; there are none, minimal, common")
  elseif(NOT WAVEFIRE_NVCC)
    message(FATAL_ERROR "WAVEFIRE_KERNELS=${WAVEFIRE_KERNELS} needs nvcc (WAVEFIRE_NVCC)")
  endif()
  set(list ${PROJECT_SOURCE_DIR}/src/generate/bundles/${WAVEFIRE_KERNELS}.txt)
  set(stamp ${CMAKE_BINARY_DIR}/kernels.bundle.${WAVEFIRE_KERNELS}.stamp)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -E env WAVEFIRE_NVCC=${WAVEFIRE_NVCC} WAVEFIRE_JIT=on
            $<TARGET_FILE:wavefire_cli> bundle ${list} ${file} ${WAVEFIRE_KERNEL_ARCHITECTURES}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${list} wavefire_cli
    COMMENT "Compiling the ${WAVEFIRE_KERNELS} GPU kernels" VERBATIM)
  add_custom_target(wavefire_bundle ALL DEPENDS ${stamp})
  # OPTIONAL: what is installed may have been built without `all`.
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library OPTIONAL)
  if(WAVEFIRE_BUILD_PYTHON)
    install(FILES ${file} DESTINATION wavefire/lib COMPONENT python OPTIONAL)
  endif()
endfunction()
