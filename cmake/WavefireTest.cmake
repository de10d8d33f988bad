# Tests. Each carries the label `fast` (`make test`, CI, sanitizers) or `slow` (`make test-all`).

# wavefire_add_test(<name> SOURCES <file>... [LIBS <target>...] [ARGS <arg>...] [TIMEOUT <seconds>]
#                   [SLOW] [EACH_LEVEL])
#
# A GoogleTest program that sees the internal headers (kernels/ and src/ are include roots).
# EACH_LEVEL runs it once per CPU level of this machine, as <name>.<level> with WAVEFIRE_CPU_LEVEL
# set. SLOW keeps it out of `make test`.
function(wavefire_add_test name)
  cmake_parse_arguments(arg "SLOW;EACH_LEVEL" "TIMEOUT" "SOURCES;LIBS;ARGS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE wavefire_internal wavefire_compile_options ${arg_LIBS}
                                        GTest::gtest GTest::gtest_main)
  if(arg_EACH_LEVEL)
    foreach(level IN LISTS WAVEFIRE_RUNNABLE_CPU_LEVELS)
      add_test(NAME ${name}.${level} COMMAND ${name} --gtest_brief=1 ${arg_ARGS})
      _wavefire_test_properties(${name}.${level} "${arg_SLOW}" "${arg_TIMEOUT}")
      set_property(TEST ${name}.${level} APPEND PROPERTY ENVIRONMENT WAVEFIRE_CPU_LEVEL=${level})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 ${arg_ARGS})
    _wavefire_test_properties(${name} "${arg_SLOW}" "${arg_TIMEOUT}")
  endif()
endfunction()

# wavefire_add_level_test(<name> SOURCES <file>... [LIBS <target>...] [TIMEOUT <seconds>] [SLOW])
#
# A GoogleTest program over kernel headers themselves: compiled once per CPU level with that level's
# flags (include WAVEFIRE_TILE_HEADER first), as <name>_<level>; run on the levels of this machine.
function(wavefire_add_level_test name)
  cmake_parse_arguments(arg "SLOW" "TIMEOUT" "SOURCES;LIBS" ${ARGN})
  foreach(level IN LISTS WAVEFIRE_CPU_LEVELS)
    set(target ${name}_${level})
    add_executable(${target} ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE wavefire_internal wavefire_compile_options ${arg_LIBS}
                                            GTest::gtest GTest::gtest_main)
    wavefire_set_cpu_level(${target} ${level})
    if(level IN_LIST WAVEFIRE_RUNNABLE_CPU_LEVELS)
      add_test(NAME ${target} COMMAND ${target} --gtest_brief=1)
      _wavefire_test_properties(${target} "${arg_SLOW}" "${arg_TIMEOUT}")
    endif()
  endforeach()
endfunction()

# wavefire_add_test_run(<name> TEST <program> [ARGS <arg>...] [ENVIRONMENT <VAR=value>...]
#                       [TIMEOUT <seconds>] [SLOW])
#
# One more run of a program that wavefire_add_test made, with other arguments or environment.
function(wavefire_add_test_run name)
  cmake_parse_arguments(arg "SLOW" "TEST;TIMEOUT" "ARGS;ENVIRONMENT" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_TEST} --gtest_brief=1 ${arg_ARGS})
  _wavefire_test_properties(${name} "${arg_SLOW}" "${arg_TIMEOUT}")
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()

function(_wavefire_test_properties test slow timeout)
  if(slow)
    set_property(TEST ${test} PROPERTY LABELS slow)
  else()
    set_property(TEST ${test} PROPERTY LABELS fast)
  endif()
  if(WAVEFIRE_SANITIZE MATCHES "thread")
    # The sanitizer does not see how the threads of an OpenMP runtime wait for each other.
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT WAVEFIRE_PARALLEL=threads)
  endif()
  if(NOT timeout)
    set(timeout 300)
  endif()
  set_property(TEST ${test} PROPERTY TIMEOUT ${timeout})
endfunction()
