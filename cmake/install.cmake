# Install rules and find_package(latticino).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(LATTICINO_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/latticino)

install(TARGETS latticino EXPORT latticino-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
# Everything but the devices' own headers: those are not part of the interface.
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/latticino COMPONENT library
  FILES_MATCHING PATTERN "*.h" PATTERN "backend/cuda" EXCLUDE PATTERN "backend/cpu" EXCLUDE)
install(EXPORT latticino-targets NAMESPACE latticino:: DESTINATION ${LATTICINO_CMAKE_DIR}
  COMPONENT library)
configure_package_config_file(cmake/latticino-config.cmake.in
  ${PROJECT_BINARY_DIR}/latticino-config.cmake INSTALL_DESTINATION ${LATTICINO_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/latticino-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/latticino-config.cmake
  ${PROJECT_BINARY_DIR}/latticino-config-version.cmake
  DESTINATION ${LATTICINO_CMAKE_DIR} COMPONENT library)
