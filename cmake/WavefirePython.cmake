# wavefire_add_python_package(<extension>)
#
# Build tree: <build>/python/wavefire is the package, ready for PYTHONPATH=<build>/python: links to
# the sources in python/wavefire, and lib/ with the compiled libraries. Wheel: the component
# `python` installs the libraries into wavefire/lib.
function(wavefire_add_python_package extension)
  set(package ${PROJECT_BINARY_DIR}/python/wavefire)
  file(MAKE_DIRECTORY ${package}/lib)
  file(GLOB entries CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python/wavefire
       ${PROJECT_SOURCE_DIR}/python/wavefire/*)
  file(GLOB linked RELATIVE ${package} ${package}/*)
  list(REMOVE_ITEM entries __pycache__ lib)
  list(REMOVE_ITEM linked __pycache__ lib ${entries})
  foreach(entry IN LISTS linked)  # its source has gone
    file(REMOVE ${package}/${entry})
  endforeach()
  foreach(entry IN LISTS entries)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/wavefire/${entry} ${package}/${entry} SYMBOLIC)
  endforeach()

  set_target_properties(${extension} wavefire PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package}/lib)
  set_target_properties(${extension} PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${extension} wavefire LIBRARY DESTINATION wavefire/lib COMPONENT python
          NAMELINK_SKIP)
endfunction()
