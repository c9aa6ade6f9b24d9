# The library as other projects use it: its public headers, a static or a shared library, and
# find_package(latticino).
# For a project that has this one in its build: the public headers alone, and no compiler flags.
add_library(latticino_interface INTERFACE)
target_compile_features(latticino_interface INTERFACE cxx_std_20)
target_include_directories(latticino_interface INTERFACE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_BINARY_DIR}/include)
target_link_libraries(latticino_interface INTERFACE $<LINK_ONLY:latticino>)
add_library(latticino::latticino ALIAS latticino_interface)

if(NOT LATTICINO_INSTALL)
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(LATTICINO_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/latticino)

# The shared library has all objects of the static one. It exports the names with LATTICINO_API.
file(WRITE ${PROJECT_BINARY_DIR}/empty.cc "")
add_library(latticino_shared SHARED ${PROJECT_BINARY_DIR}/empty.cc)
target_compile_features(latticino_shared PUBLIC cxx_std_20)
target_link_libraries(latticino_shared PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,latticino>)
set_target_properties(latticino_shared PROPERTIES OUTPUT_NAME latticino EXPORT_NAME latticino
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(latticino_shared PRIVATE LINKER:--version-script=${exports} LINKER:--no-undefined)
  set_target_properties(latticino_shared PROPERTIES LINK_DEPENDS ${exports})
endif()

# One kind is installed with everything else. The other one has to be built by its target, and is then
# installed by the name of its component.
if(LATTICINO_SHARED)
  set(static_rule COMPONENT static EXCLUDE_FROM_ALL)
  set(shared_rule COMPONENT library)
else()
  set(static_rule COMPONENT library)
  set(shared_rule COMPONENT shared EXCLUDE_FROM_ALL)
  set_target_properties(latticino_shared PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
foreach(kind static shared)
  set(target latticino)
  if(kind STREQUAL "shared")
    set(target latticino_shared)
  endif()
  install(TARGETS ${target} EXPORT latticino-${kind}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${${kind}_rule}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${${kind}_rule}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT latticino-${kind} NAMESPACE latticino:: FILE latticino-${kind}.cmake
    DESTINATION ${LATTICINO_CMAKE_DIR} ${${kind}_rule})
endforeach()
install(DIRECTORY include/latticino ${PROJECT_BINARY_DIR}/include/latticino
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library FILES_MATCHING PATTERN "*.h")
install(DIRECTORY include/latticino ${PROJECT_BINARY_DIR}/include/latticino
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers EXCLUDE_FROM_ALL
  FILES_MATCHING PATTERN "*.h")
configure_package_config_file(cmake/latticino-config.cmake.in
  ${PROJECT_BINARY_DIR}/latticino-config.cmake INSTALL_DESTINATION ${LATTICINO_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/latticino-config-version.cmake
  COMPATIBILITY SameMinorVersion)
foreach(component library headers)
  set(rule COMPONENT ${component})
  if(component STREQUAL "headers")
    list(APPEND rule EXCLUDE_FROM_ALL)
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/latticino-config.cmake
    ${PROJECT_BINARY_DIR}/latticino-config-version.cmake
    DESTINATION ${LATTICINO_CMAKE_DIR} ${rule})
endforeach()
