if(LATTICINO_GTEST_ROOT)
  set(INSTALL_GTEST OFF)
  add_subdirectory(${LATTICINO_GTEST_ROOT} ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  if(NOT TARGET GTest::gtest_main)
    add_library(GTest::gtest_main ALIAS gtest_main)
  endif()
else()
  find_package(GTest REQUIRED)
endif()
set_source_files_properties(tests/unit/bench/split_inner_test.cc tests/unit/bench/bitpacker_sets_test.cc
  tests/unit/bench/arguments_test.cc
  bench/bitpacker/bitpacker_sets.cc PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/bench)
include(cmake/discover.cmake)
# A test case that hangs is ended after so many seconds, and its name is reported.
set(LATTICINO_TEST_SECONDS 1200)
# For the tests' own code, whose time to compile matters more than its time to run.
set(LATTICINO_TEST_OPTIMIZATION -O0)
if(LATTICINO_SANITIZE)
  set(LATTICINO_TEST_SECONDS 3600)
  set(LATTICINO_TEST_OPTIMIZATION -O1)
endif()
# One program per folder: every *_test.cc below tests/<folder>.
foreach(folder unit conformance kat property noise fuzz)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS tests/${folder}/*_test.cc)
  if(sources)
    add_executable(${folder}_tests ${sources})
    target_include_directories(${folder}_tests PRIVATE tests)
    target_compile_definitions(${folder}_tests PRIVATE
      LATTICINO_TEST_DATA="tests/data")  # relative to the working directory of add_test
    target_compile_options(${folder}_tests PRIVATE ${LATTICINO_TEST_OPTIMIZATION})
    target_link_libraries(${folder}_tests PRIVATE latticino GTest::gtest_main)
    if(folder STREQUAL "unit")
      file(GLOB wasm CONFIGURE_DEPENDS src/wasm/*_client.cc src/wasm/client.cc src/wasm/notes.cc)
      # The browser's client, without the functions that JavaScript calls, and the search of bench bitpacker.
      target_sources(unit_tests PRIVATE ${wasm} bench/bitpacker/bitpacker_sets.cc)
      target_precompile_headers(unit_tests PRIVATE <gtest/gtest.h> ${LATTICINO_STANDARD_HEADERS} <chrono> <filesystem> <fstream>
        <set> <thread>)
    else()
      target_precompile_headers(${folder}_tests REUSE_FROM unit_tests)
    endif()
    latticino_discover(${folder}_tests ${folder} ${PROJECT_SOURCE_DIR} ${LATTICINO_TEST_SECONDS})
  endif()
endforeach()
# Programs on arrays with the public headers alone. Python tests run them, and compare them with Python's arrays.
add_executable(array_programs tests/programs/array_programs.cc)
target_compile_options(array_programs PRIVATE -O1)
target_link_libraries(array_programs PRIVATE latticino)
# Cases that end in every way, of which tests/python/house/test_tiers.py checks the counts.
add_executable(endings tests/programs/endings.cc)
target_link_libraries(endings PRIVATE GTest::gtest_main)
# Device code on the host (tests/emulation/machine.h). Fibers change stacks, which sanitizers refuse.
if(NOT LATTICINO_SANITIZE)
  file(GLOB sources CONFIGURE_DEPENDS tests/emulation/*.cc)
  add_executable(emulation_tests ${sources})
  target_include_directories(emulation_tests BEFORE PRIVATE tests/emulation/include tests bench)
  target_compile_definitions(emulation_tests PRIVATE __CUDACC__)
  target_compile_options(emulation_tests PRIVATE -O1 -Wno-unknown-pragmas)
  target_link_libraries(emulation_tests PRIVATE latticino GTest::gtest_main)
  latticino_discover(emulation_tests emulation ${PROJECT_SOURCE_DIR} ${LATTICINO_TEST_SECONDS})
endif()
# Finds branches and addresses that depend on secrets, and freed memory that still holds some. The library is
# not changed for it: it runs under valgrind (tests/secrets), which leaves the program its own operator new.
file(GLOB sources CONFIGURE_DEPENDS tests/secrets/*.cc)
add_executable(secrets_tests EXCLUDE_FROM_ALL ${sources})  # ./latticino test --more builds and runs it
target_include_directories(secrets_tests PRIVATE tests)
target_compile_options(secrets_tests PRIVATE -O1)
target_link_libraries(secrets_tests PRIVATE latticino)
find_program(LATTICINO_VALGRIND valgrind)
if(LATTICINO_VALGRIND)
  get_filename_component(folder ${LATTICINO_VALGRIND} DIRECTORY)
  target_include_directories(secrets_tests SYSTEM PRIVATE ${folder}/../include)
endif()
