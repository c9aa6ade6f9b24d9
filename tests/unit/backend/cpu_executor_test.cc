#include "backend/cpu/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "math/primes.h"

namespace latticino::cpu {
namespace {

// Secrets are in scratch for a time. When a secret block is released, scratch must be zero on every
// thread.
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

// Products with the key in the last step need a second block of scratch, which is used for nothing
// else.
TEST(CpuExecutor, TheLastStepTakesScratchForProductsOnlyWhereThereAreSome) {
  const Ring ring(12, ntt_primes_below(12, 1u << 30, 2));
  const Basis basis{{0, 2}};
  std::vector<std::uint32_t> words(4 * 2 * ring.n(), 1);
  const auto poly = [&](std::size_t i, Domain domain) {
    return PolyView::contiguous(words.data() + i * 2 * ring.n(), ring, basis, domain);
  };
  ModDownFinish op;
  op.factor = {1, 1};
  op.items.push_back({poly(0, Domain::Eval), poly(1, Domain::Half), {}, poly(2, Domain::Eval), 5});
  const auto bytes = [&op] {
    Executor executor(reference_kernels(), 1);
    run(executor, op);
    return executor.scratch_bytes();
  };
  const std::size_t block = kBlockEntries * sizeof(std::uint32_t);
  EXPECT_EQ(bytes(), block);
  op.items[0].times = poly(3, Domain::Eval);
  EXPECT_EQ(bytes(), 2 * block);
}

}  // namespace
}  // namespace latticino::cpu
