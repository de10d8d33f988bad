# The virtual Instinct needs LLVM 20 or newer (its C library, to disassemble) and is left out
# without.
#
# WAVEFIRE_BUILD_VIRTUAL: AUTO (if LLVM is found), ON (fail without), OFF. Sets
# WAVEFIRE_WITH_VIRTUAL and, if that is true, the target wavefire_llvm.
set(WAVEFIRE_BUILD_VIRTUAL AUTO CACHE STRING
    "Build the virtual Instinct: AUTO (with LLVM >= 20), ON, OFF")
set_property(CACHE WAVEFIRE_BUILD_VIRTUAL PROPERTY STRINGS AUTO ON OFF)

function(_wavefire_find_llvm)
  foreach(version 23 22 21 20)
    list(APPEND names LLVM-${version})
    list(APPEND roots /usr/lib/llvm-${version} /usr/local/opt/llvm@${version})
  endforeach()
  find_library(WAVEFIRE_LLVM_LIBRARY NAMES ${names} HINTS ${LLVM_ROOT} $ENV{LLVM_ROOT}
               PATHS ${roots} PATH_SUFFIXES lib)
  if(WAVEFIRE_LLVM_LIBRARY)
    get_filename_component(folder ${WAVEFIRE_LLVM_LIBRARY} DIRECTORY)
  endif()
  find_path(WAVEFIRE_LLVM_INCLUDE llvm-c/Disassembler.h HINTS ${folder}/../include ${roots}
            PATH_SUFFIXES include)
endfunction()

# wavefire_link_virtual()
#
# Puts a link to the virtual Instinct beside the library, which looks for it there, as when it is
# installed. Without one the target does nothing, so that the Makefile can name it.
function(wavefire_link_virtual)
  if(NOT WAVEFIRE_WITH_VIRTUAL)
    add_custom_target(wavefire_virtual_link)
    return()
  endif()
  add_custom_target(
    wavefire_virtual_link ALL
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:wavefire_virtual>
            $<TARGET_FILE_DIR:wavefire>/$<TARGET_FILE_NAME:wavefire_virtual>
    DEPENDS wavefire_virtual wavefire VERBATIM)
endfunction()

set(WAVEFIRE_WITH_VIRTUAL FALSE)
if(WAVEFIRE_BUILD_VIRTUAL)
  _wavefire_find_llvm()
  if(WAVEFIRE_LLVM_LIBRARY AND WAVEFIRE_LLVM_INCLUDE)
    set(WAVEFIRE_WITH_VIRTUAL TRUE)
    add_library(wavefire_llvm INTERFACE)
    target_include_directories(wavefire_llvm SYSTEM INTERFACE ${WAVEFIRE_LLVM_INCLUDE})
    target_link_libraries(wavefire_llvm INTERFACE ${WAVEFIRE_LLVM_LIBRARY})
  elseif(WAVEFIRE_BUILD_VIRTUAL STREQUAL "AUTO")
    message(STATUS "No LLVM 20 or newer (llvm-22-dev): without the virtual Instinct")
  else()
    message(FATAL_ERROR "WAVEFIRE_BUILD_VIRTUAL needs LLVM 20 or newer: install llvm-22-dev or "
                        "set LLVM_ROOT")
  endif()
endif()
