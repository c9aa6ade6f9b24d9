if(LATTICINO_GTEST_ROOT)
  set(INSTALL_GTEST OFF)
  add_subdirectory(${LATTICINO_GTEST_ROOT} ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  if(NOT TARGET GTest::gtest_main)
    add_library(GTest::gtest_main ALIAS gtest_main)
  endif()
else()
  find_package(GTest REQUIRED)
endif()
include(GoogleTest)
# One program a folder: tests/<folder>/*_test.cc.
foreach(folder unit conformance kat property noise fuzz)
  file(GLOB sources CONFIGURE_DEPENDS tests/${folder}/*_test.cc)
  if(sources)
    add_executable(${folder}_tests ${sources})
    target_include_directories(${folder}_tests PRIVATE tests)
    target_compile_definitions(${folder}_tests PRIVATE
      LATTICINO_TEST_DATA="tests/data")  # relative to the working directory of add_test
    target_compile_options(${folder}_tests PRIVATE -O1)  # compile time matters more here
    target_link_libraries(${folder}_tests PRIVATE latticino GTest::gtest_main)
    add_test(NAME ${folder} COMMAND ${folder}_tests WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
endforeach()
