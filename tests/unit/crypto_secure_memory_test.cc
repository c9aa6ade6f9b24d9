#include "crypto/secure_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "io/stream.h"

namespace latticino::crypto {
namespace {

int released = 0, dirty = 0;

// Looks at each block when it comes back.
template <class T>
struct Inspecting {
  using value_type = T;
  T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* p, std::size_t n) {
    ++released;
    dirty += std::any_of(p, p + n, [](T x) { return x == T{77}; });
    std::allocator<T>().deallocate(p, n);
  }
};

TEST(SecureMemory, AGrowingVectorLeavesNothingBehind) {
  {
    std::vector<std::uint8_t, ClearingAllocator<std::uint8_t, Inspecting<std::uint8_t>>> v;
    for (int i = 0; i < 1000; ++i) v.push_back(77);
    v.shrink_to_fit();
  }
  EXPECT_GT(released, 5);
  EXPECT_EQ(dirty, 0);
}

TEST(SecureMemory, MemorySinksClearTheirBlocks) {
  using Bytes = std::remove_cvref_t<decltype(io::MemorySink().bytes())>;
  EXPECT_TRUE((std::is_same_v<Bytes, ClearingVector<std::uint8_t>>));
}

}  // namespace
}  // namespace latticino::crypto
