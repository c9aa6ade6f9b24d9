# Python extension (nanobind).
# scikit-build-core names the component where a wheel of the stable ABI is asked for and this Python has one (3.12 and later).
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
if(NOT nanobind_ROOT AND NOT nanobind_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "nanobind was not found: pip install nanobind, or set nanobind_ROOT")
  endif()
endif()
find_package(nanobind CONFIG REQUIRED)
file(GLOB LATTICINO_BINDINGS CONFIGURE_DEPENDS python/bindings/*.cc)
nanobind_add_module(_native NB_STATIC STABLE_ABI ${LATTICINO_BINDINGS})
target_link_libraries(_native PRIVATE latticino)
target_compile_options(_native PRIVATE -Wall -Wextra)
latticino_unity(_native "${LATTICINO_BINDINGS}" "src/" 5)
if(LATTICINO_CCACHE)
  # ccache may give back what was precompiled before a header of this project changed.
  target_precompile_headers(_native PRIVATE <nanobind/nanobind.h> <nanobind/ndarray.h> <nanobind/stl/complex.h>
    <nanobind/stl/map.h> <nanobind/stl/optional.h> <nanobind/stl/pair.h> <nanobind/stl/shared_ptr.h>
    <nanobind/stl/string.h> <nanobind/stl/vector.h> ${LATTICINO_STANDARD_HEADERS})
else()
  target_precompile_headers(_native PRIVATE python/bindings/bindings.h)
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  # Nothing but the module's entry is exported. Where the compiler links its own static libstdc++, its
  # locale ids would otherwise be merged with those of the libstdc++ that other modules have loaded.
  set(LATTICINO_EXPORTS ${PROJECT_SOURCE_DIR}/cmake/python_exports.map)
  target_link_options(_native PRIVATE LINKER:--version-script=${LATTICINO_EXPORTS})
  set_target_properties(_native PROPERTIES LINK_DEPENDS ${LATTICINO_EXPORTS})
endif()
target_compile_definitions(_native PRIVATE LATTICINO_VERSION="${PROJECT_VERSION}")
install(TARGETS _native LIBRARY DESTINATION latticino COMPONENT python)
