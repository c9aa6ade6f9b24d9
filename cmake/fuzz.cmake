# libFuzzer's targets: one program per reader of tests/fuzz/parsers, and one that writes seeds.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "LATTICINO_FUZZ=ON needs clang: set CMAKE_CXX_COMPILER=clang++")
endif()
set(LATTICINO_PARSERS ckks_params ckks_params_text ckks_ciphertexts ckks_keys ckks_public_key
  ckks_secret_key tfhe_params tfhe_params_text tfhe_ciphertexts tfhe_keys tfhe_secret_key switch_keys
  ckks_bundle tfhe_bundle ckks_answers header tuning_table note)
# Checksums take most of the time of an input. They have no branches that fuzzing should find, so they
# are compiled without instrumentation.
set_source_files_properties(src/crypto/sha256.cc src/crypto/sha256_kernels.cc PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-fno-sanitize=all")
add_library(fuzz_parsers OBJECT tests/fuzz/parsers/parsers.cc)
target_include_directories(fuzz_parsers PUBLIC tests tests/fuzz)
target_link_libraries(fuzz_parsers PUBLIC latticino)
add_executable(fuzz_seeds tests/fuzz/parsers/write_seeds.cc)
target_link_libraries(fuzz_seeds PRIVATE fuzz_parsers)
foreach(parser ${LATTICINO_PARSERS})
  add_executable(fuzz_${parser} tests/fuzz/parsers/file_fuzzer.cc)
  target_compile_definitions(fuzz_${parser} PRIVATE LATTICINO_PARSER="${parser}")
  target_link_libraries(fuzz_${parser} PRIVATE fuzz_parsers)
  target_link_options(fuzz_${parser} PRIVATE -fsanitize=fuzzer)
endforeach()
