# What every target of this build shares: language, build type, cache, warnings, sanitizers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# What a target of this project (and nobody who links it) is compiled with.
add_library(wavefire_compile_options INTERFACE)
# GCC's plain -Wshadow also takes the enumerators of an `enum class` for shadowing.
target_compile_options(
  wavefire_compile_options
  INTERFACE -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual
            $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>)
# GCC 12 takes appending to a std::string for overlapping copies (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(wavefire_compile_options INTERFACE -Wno-restrict)
endif()
if(WAVEFIRE_WERROR)
  target_compile_options(wavefire_compile_options INTERFACE -Werror)
endif()

if(WAVEFIRE_SANITIZE)
  add_compile_options(-fsanitize=${WAVEFIRE_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${WAVEFIRE_SANITIZE})
  add_compile_definitions(WAVEFIRE_SANITIZED)  # for tests that measure time
  if(WAVEFIRE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
