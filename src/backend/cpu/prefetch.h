// Memory that is wanted soon. A kernel that takes one of these asks the second-level cache for the
// next `share` bytes while it computes, where that pays (simd/fetch.h): keys come from far away.
#pragma once

#include <cstddef>

namespace latticino::cpu {

struct Prefetch {
  const char *next = nullptr, *end = nullptr;
  std::size_t share = 0;
};

}  // namespace latticino::cpu
