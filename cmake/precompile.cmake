# Headers that most sources include, parsed once: two fifths of the compiler's time. Sources still include all that they use:
# sources with flags of their own, CUDA sources and clang-tidy do without. -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON turns it
# off.
set(LATTICINO_STANDARD_HEADERS <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstring> <functional> <map> <memory>
  <mutex> <numeric> <optional> <random> <span> <sstream> <string> <utility> <variant> <vector>)
target_precompile_headers(latticino PRIVATE ${LATTICINO_STANDARD_HEADERS})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND LATTICINO_CCACHE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # ccache reads what it would preprocess
  target_compile_options(latticino PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
