# The client half for browsers: keys, encryption, decryption and files of the sources of the library, as one
# WebAssembly module without JavaScript of Emscripten (web/latticino.mjs is what loads it). docs/browser.md.
#
#   cmake -S . -B build/wasm -G Ninja -DLATTICINO_WASM=ON \
#     -DCMAKE_TOOLCHAIN_FILE=/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake
#   cmake --build build/wasm
if(NOT EMSCRIPTEN)
  message(FATAL_ERROR "LATTICINO_WASM=ON needs Emscripten's compiler: install emscripten and give its toolchain file,\n"
    "-DCMAKE_TOOLCHAIN_FILE=/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake")
endif()
set(LATTICINO_WASM_LIMIT 1000000 CACHE STRING "Bytes that the module may have")
set(LATTICINO_WASM_MEMORY 2147418112)  # bytes that its memory may grow to: whole pages of 64 KiB, below 2^31

# What a client needs. The linker leaves out what it does not call.
file(GLOB LATTICINO_WASM_SOURCES CONFIGURE_DEPENDS
  src/wasm/*.cc src/math/*.cc src/crypto/*.cc src/params/*.cc src/params/bounds/*.cc src/params/chain/*.cc
  src/params/noise/*.cc src/params/presets/*.cc src/params/tfhe/*.cc src/poly/*.cc src/ops/*.cc src/runtime/*.cc
  src/backend/cpu/*.cc src/backend/cpu/simd/*.cc
  src/rlwe/*.cc src/tfhe/*.cc src/tfhe/arithmetic/*.cc src/tfhe/origins/*.cc src/ckks/*.cc src/ckks/encoding/*.cc src/io/*.cc
  src/io/codec/*.cc)
list(APPEND LATTICINO_WASM_SOURCES src/session/note.cc src/session/claims/range.cc src/session/claims/estimate.cc
  src/session/keys/ckks_key_holder.cc src/session/keys/tfhe_key_holder.cc)
list(FILTER LATTICINO_WASM_SOURCES EXCLUDE REGEX "src/io/switch_keys_file.cc|src/tfhe/(integers_|evaluator_)")

# One folder with all files that a server of the page serves.
set(LATTICINO_WASM_FOLDER ${PROJECT_BINARY_DIR}/web)
file(GLOB LATTICINO_WASM_PAGE CONFIGURE_DEPENDS web/*)
file(COPY ${LATTICINO_WASM_PAGE} DESTINATION ${LATTICINO_WASM_FOLDER})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${LATTICINO_WASM_PAGE})

add_executable(latticino ${LATTICINO_WASM_SOURCES})
set_target_properties(latticino PROPERTIES SUFFIX .wasm RUNTIME_OUTPUT_DIRECTORY ${LATTICINO_WASM_FOLDER})
target_include_directories(latticino PRIVATE src include)
target_compile_definitions(latticino PRIVATE LATTICINO_WASM_MEMORY=${LATTICINO_WASM_MEMORY}u)
# The same rounding as in native builds (CMakeLists.txt), and exceptions of WebAssembly itself.
target_compile_options(latticino PRIVATE -O2 -flto -fwasm-exceptions -msimd128 -ffp-contract=off -ffunction-sections
  -fdata-sections -fvisibility=hidden -Wall -Wextra)
# Few bytes where little time goes: sets and their texts, checks, files, and what clients do not call.
set(small ${LATTICINO_WASM_SOURCES})
list(FILTER small INCLUDE REGEX "src/(wasm|params|io|session|runtime|poly)/|src/ops/check|src/tfhe/(evaluator|integers|table|bootstrap|batches)")
set_source_files_properties(${small} PROPERTIES COMPILE_OPTIONS -Oz)
target_link_options(latticino PRIVATE -O2 -flto -fwasm-exceptions -msimd128 --no-entry -sSTANDALONE_WASM
  -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=${LATTICINO_WASM_MEMORY} LINKER:--gc-sections
  --js-library=${PROJECT_SOURCE_DIR}/cmake/wasm_imports.js)
set_target_properties(latticino PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/wasm_imports.js)
add_custom_command(TARGET latticino POST_BUILD VERBATIM
  COMMAND ${CMAKE_COMMAND} -DFILE=$<TARGET_FILE:latticino> -DLIMIT=${LATTICINO_WASM_LIMIT}
    -P ${PROJECT_SOURCE_DIR}/cmake/wasm_size.cmake)
