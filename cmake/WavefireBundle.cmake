# Kernels for GPUs that are compiled with the library: a file beside it (src/generate/bundle.h).
#
# WAVEFIRE_KERNELS: none; minimal (what tests and first steps need); common (what a wheel carries).
# The default is minimal where a compiler is, nvcc or a clang, for that compiler's GPUs; each is
# optional. For AMD's GPUs minimal and common are one list. Compiled kernels are cached as at run
# time.
find_program(WAVEFIRE_NVCC nvcc HINTS $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda
             PATH_SUFFIXES bin DOC "The CUDA compiler of the built-in kernels")
find_program(WAVEFIRE_AMD_CLANG
             NAMES clang++-22 clang-22 clang++-21 clang-21 clang++-20 clang-20
             DOC "A clang (20 or newer, with lld) that compiles kernels for gfx942 and gfx950")
find_program(WAVEFIRE_AMD_CLANG NAMES clang++ PATHS $ENV{ROCM_PATH}/llvm/bin /opt/rocm/llvm/bin
             NO_DEFAULT_PATH)

# Whether it compiles and links for gfx950: an older one does not, nor one without lld.
set(WAVEFIRE_AMD_CLANG_WORKS FALSE)
if(WAVEFIRE_AMD_CLANG)
  set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/amd_clang_probe)
  file(WRITE ${probe}.hip "extern \"C\" __attribute__((global)) void nothing() {}\n")
  execute_process(
    COMMAND ${WAVEFIRE_AMD_CLANG} -x hip --offload-arch=gfx950 --offload-device-only
            --no-gpu-bundle-output -nogpuinc -nogpulib -mcode-object-version=5 -o ${probe}.co
            ${probe}.hip
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(WAVEFIRE_AMD_CLANG_WORKS TRUE)
  else()
    message(STATUS "${WAVEFIRE_AMD_CLANG} does not compile for gfx950 (older than 20, or no lld)")
  endif()
endif()

set(default none)
set(architectures)
if(WAVEFIRE_NVCC)
  list(APPEND architectures sm80 sm90 ptx)
endif()
if(WAVEFIRE_AMD_CLANG_WORKS)
  list(APPEND architectures gfx942 gfx950)
endif()
if(architectures)
  set(default minimal)
endif()
set(WAVEFIRE_KERNELS ${default} CACHE STRING "GPU kernels compiled ahead: none, minimal, common")
set_property(CACHE WAVEFIRE_KERNELS PROPERTY STRINGS none minimal common)
# sm90 includes the kernels of sm90a; ptx serves every GPU from sm_80 on, which compiles it itself.
set(WAVEFIRE_KERNEL_ARCHITECTURES ${architectures} CACHE STRING "What they are compiled for")

# _wavefire_bundle_lists(<lists> <environment>)
#
# The lists with their architectures, each behind `--and`, and where their compilers are. Fails
# where one is missing.
function(_wavefire_bundle_lists lists environment)
  set(amd ${WAVEFIRE_KERNEL_ARCHITECTURES})
  set(nvidia ${WAVEFIRE_KERNEL_ARCHITECTURES})
  list(FILTER amd INCLUDE REGEX "^gfx")
  list(FILTER nvidia EXCLUDE REGEX "^gfx")
  set(folder ${PROJECT_SOURCE_DIR}/src/generate/bundles)
  set(arguments)
  set(compilers)
  if(nvidia)
    if(NOT WAVEFIRE_NVCC)
      message(FATAL_ERROR "WAVEFIRE_KERNEL_ARCHITECTURES: ${nvidia} need nvcc (WAVEFIRE_NVCC)")
    endif()
    list(APPEND arguments --and ${folder}/${WAVEFIRE_KERNELS}.txt ${nvidia})
    list(APPEND compilers WAVEFIRE_NVCC=${WAVEFIRE_NVCC})
  endif()
  if(amd)
    if(NOT WAVEFIRE_AMD_CLANG_WORKS)
      message(FATAL_ERROR "WAVEFIRE_KERNEL_ARCHITECTURES: ${amd} need a clang, 20 or newer, with "
                          "lld (WAVEFIRE_AMD_CLANG)")
    endif()
    list(APPEND arguments --and ${folder}/amd.txt ${amd})
    list(APPEND compilers WAVEFIRE_HIP_COMPILER=${WAVEFIRE_AMD_CLANG})
  endif()
  set(${lists} ${arguments} PARENT_SCOPE)
  set(${environment} ${compilers} PARENT_SCOPE)
endfunction()

# wavefire_add_bundle()
function(wavefire_add_bundle)
  set(file $<TARGET_FILE_DIR:wavefire>/kernels.bundle)
  if(WAVEFIRE_KERNELS STREQUAL "none")
    return()
  elseif(NOT WAVEFIRE_KERNELS MATCHES "^(minimal|common)$")
    message(FATAL_ERROR "WAVEFIRE_KERNELS is ${WAVEFIRE_KERNELS}; there are none, minimal, common")
  endif()
  _wavefire_bundle_lists(lists compilers)
  if(NOT lists)
    return()
  endif()
  list(POP_FRONT lists and list)
  set(files ${list} ${lists})
  list(FILTER files INCLUDE REGEX "[.]txt$")
  set(stamp ${CMAKE_BINARY_DIR}/kernels.bundle.${WAVEFIRE_KERNELS}.stamp)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -E env ${compilers} WAVEFIRE_JIT=on $<TARGET_FILE:wavefire_cli>
            bundle ${list} ${file} ${lists}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${files} wavefire_cli
    COMMENT "Compiling the ${WAVEFIRE_KERNELS} GPU kernels" VERBATIM)
  add_custom_target(wavefire_bundle ALL DEPENDS ${stamp})
  # OPTIONAL: what is installed may have been built without `all`.
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library OPTIONAL)
  if(WAVEFIRE_BUILD_PYTHON)
    install(FILES ${file} DESTINATION wavefire/lib COMPONENT python OPTIONAL)
  endif()
endfunction()
