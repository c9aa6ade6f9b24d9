#include "backend/cpu/executor.h"

#include <gtest/gtest.h>

#include <atomic>

namespace latticino::cpu {
namespace {

// Secrets pass through scratch: what their end must leave is zero on every thread.
TEST(CpuExecutor, ScratchIsClearedWhereASecretEnds) {
  constexpr std::size_t kWords = 5000, kUnits = 64;
  Executor executor(reference_kernels(), 3);
  executor.reserve_scratch(kWords);
  executor.parallel(kUnits, kWords, [&](std::size_t, std::uint32_t* scratch) {
    std::fill_n(scratch, kWords, 0xdeadbeefu);
  });
  executor.clear_scratch();
  std::atomic<std::size_t> left{0};
  executor.parallel(kUnits, kWords, [&](std::size_t, const std::uint32_t* scratch) {
    left += static_cast<std::size_t>(
        std::count_if(scratch, scratch + kWords, [](std::uint32_t w) { return w != 0; }));
  });
  EXPECT_EQ(left, 0u);
}

}  // namespace
}  // namespace latticino::cpu
