# Installation: the library, its public headers, the kernel headers (a kernel that is compiled at
# run time includes them) and the package that find_package(wavefire) finds.

include(CMakePackageConfigHelpers)

install(TARGETS wavefire EXPORT wavefireTargets COMPONENT library
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(WAVEFIRE_WITH_VIRTUAL)  # beside the library, which opens it there
  install(TARGETS wavefire_virtual COMPONENT library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wavefire
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wavefire/kernels COMPONENT library
        FILES_MATCHING PATTERN "*.h")

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/wavefire)
install(EXPORT wavefireTargets NAMESPACE wavefire:: DESTINATION ${package_folder}
        COMPONENT library)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/wavefireConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/wavefireConfig.cmake
                              INSTALL_DESTINATION ${package_folder}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wavefireConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wavefireConfig.cmake
              ${PROJECT_BINARY_DIR}/wavefireConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT library)
