# src/backend/cpu/simd/*.cc: one file for each instruction set, chosen at run time. A compiler or
# processor family without it compiles the same file to "not available".
file(GLOB LATTICINO_SIMD_SOURCES CONFIGURE_DEPENDS src/backend/cpu/simd/*.cc)
target_sources(latticino PRIVATE ${LATTICINO_SIMD_SOURCES})
set_source_files_properties(${LATTICINO_SIMD_SOURCES} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # GCC 12 warns about the undefined pass-through operands of its own AVX-512 intrinsics.
  set_source_files_properties(src/backend/cpu/simd/avx512.cc PROPERTIES COMPILE_OPTIONS
    "-O3;-mavx512f;-mavx512dq;-mavx512bw;-mavx512vl;-mprefer-vector-width=512;-Wno-uninitialized;-Wno-maybe-uninitialized")
  set_source_files_properties(src/backend/cpu/simd/avx2.cc PROPERTIES COMPILE_OPTIONS "-O3;-mavx2;-mfma")
endif()
