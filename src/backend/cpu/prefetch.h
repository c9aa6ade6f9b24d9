// Prefetching: a kernel that takes a Prefetch fetches the next `share` bytes to the second-level
// cache while it computes, if that is faster (simd/fetch.h). This is for keys, which are too large
// for caches and come from main memory.
#pragma once

#include <cstddef>

namespace latticino::cpu {

struct Prefetch {
  const char *next = nullptr, *end = nullptr;
  std::size_t share = 0;
};

}  // namespace latticino::cpu
