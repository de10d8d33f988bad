# CPU kernels: each (kernel family, ISA level) is an object library of its own, since only a whole
# translation unit can be given a level's flags without its inline functions leaking into other
# levels (DESIGN.md, section 3).

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(WAVEFIRE_CPU_LEVELS scalar avx2 avx512)
else()
  set(WAVEFIRE_CPU_LEVELS scalar)
endif()

set(WAVEFIRE_CPU_FLAGS_scalar "")
set(WAVEFIRE_CPU_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(WAVEFIRE_CPU_FLAGS_avx512
    -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512bf16 -mfma -mf16c)

# The levels that this machine can execute; tests run on these and compile for all.
include(CheckCXXSourceRuns)
set(WAVEFIRE_RUNNABLE_CPU_LEVELS scalar)
if(NOT CMAKE_CROSSCOMPILING AND "avx2" IN_LIST WAVEFIRE_CPU_LEVELS)
  check_cxx_source_runs("int main() { return !(__builtin_cpu_supports(\"avx2\") &&
    __builtin_cpu_supports(\"fma\") && __builtin_cpu_supports(\"f16c\")); }" WAVEFIRE_RUNS_AVX2)
  check_cxx_source_runs("int main() { return !(__builtin_cpu_supports(\"avx512f\") &&
    __builtin_cpu_supports(\"avx512bw\") && __builtin_cpu_supports(\"avx512vl\") &&
    __builtin_cpu_supports(\"avx512dq\") && __builtin_cpu_supports(\"avx512bf16\")); }"
    WAVEFIRE_RUNS_AVX512)
  if(WAVEFIRE_RUNS_AVX2)
    list(APPEND WAVEFIRE_RUNNABLE_CPU_LEVELS avx2)
  endif()
  if(WAVEFIRE_RUNS_AVX512)
    list(APPEND WAVEFIRE_RUNNABLE_CPU_LEVELS avx512)
  endif()
endif()

# Instrumented kernels take minutes to compile, and for -O3 several times as long as for -O1: build
# only what will run.
set(WAVEFIRE_KERNEL_OPTIMIZATION -O3)
if(WAVEFIRE_SANITIZE)
  set(WAVEFIRE_CPU_LEVELS ${WAVEFIRE_RUNNABLE_CPU_LEVELS})
  set(WAVEFIRE_KERNEL_OPTIMIZATION -O1)
endif()

# wavefire_set_cpu_level(<target> <level>)
#
# Compiles everything in <target> as kernel code of that level.
function(wavefire_set_cpu_level target level)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
  target_compile_definitions(${target} PRIVATE WAVEFIRE_TARGET=${level}
                                               WAVEFIRE_TILE_HEADER="tile/cpu/${level}/arch.h")
  # -O3 in debug builds too: kernels are unusably slow below it, and tests run them a lot.
  # -fno-math-errno and the absence of contraction make the arithmetic the one that is written.
  target_compile_options(
    ${target} PRIVATE ${WAVEFIRE_CPU_FLAGS_${level}} ${WAVEFIRE_KERNEL_OPTIMIZATION}
                      -ffp-contract=off -fno-math-errno -Wno-psabi)
  # GCC 12 gives two live arrays of instrumented AVX-512 code one place on the stack.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND WAVEFIRE_SANITIZE MATCHES "thread")
    target_compile_options(${target} PRIVATE -fstack-reuse=none)
  endif()
  # GCC's own AVX-512 headers initialise values with themselves.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
endfunction()

# wavefire_add_cpu_kernels(<family>)
#
# Compiles <family>_kernels.cpp of the current folder once per level into the library. Each unit
# defines one symbol: const wavefire::cpu::<Family>Kernels wavefire::cpu::<family>_kernels_<level>.
function(wavefire_add_cpu_kernels family)
  foreach(level IN LISTS WAVEFIRE_CPU_LEVELS)
    set(target wavefire_${family}_${level})
    add_library(${target} OBJECT ${family}_kernels.cpp)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
                                                 ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE wavefire_compile_options)
    wavefire_set_cpu_level(${target} ${level})
    target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti)
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden)
    target_sources(wavefire PRIVATE $<TARGET_OBJECTS:${target}>)
    set_property(GLOBAL APPEND_STRING PROPERTY WAVEFIRE_CPU_KERNEL_OBJECTS
                                               "${level} ${family} $<TARGET_OBJECTS:${target}>\n")
  endforeach()
endfunction()
