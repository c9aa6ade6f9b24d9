# src/backend/cpu/simd/*.cc are compiled once for each instruction set and chosen at run time.
file(GLOB LATTICINO_SIMD_SOURCES CONFIGURE_DEPENDS src/backend/cpu/simd/*.cc)
target_sources(latticino PRIVATE ${LATTICINO_SIMD_SOURCES})
