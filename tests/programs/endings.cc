// Cases of GoogleTest that end in every way. tests/python/house/test_tiers.py runs them with ctest,
// and checks how `./latticino test` counts them.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

namespace {

TEST(Passes, Short) {}

TEST(Passes, AfterMuchOutput) {
  for (int i = 0; i < 1000; ++i) std::puts("a line of many");
}

TEST(Fails, Expects) { EXPECT_EQ(1, 2); }

TEST(Fails, ThenSkips) {
  EXPECT_EQ(1, 2);
  GTEST_SKIP() << "no CUDA device";
}

TEST(Skips, WithoutGpu) { GTEST_SKIP() << "no CUDA device: nothing was compared"; }

TEST(Skips, BuiltWithoutCuda) { GTEST_SKIP() << "built without CUDA: nothing was compared"; }

TEST(Skips, ForAnotherReason) { GTEST_SKIP() << "no vectorised kernels on this processor"; }

// Ends like a process that has skipped its case, and in which AddressSanitizer then finds a leak.
TEST(Skips, ThenEndsBadly) {
  std::atexit([] {
    std::fputs("ERROR: LeakSanitizer: detected memory leaks\n", stderr);
    std::_Exit(23);
  });
  GTEST_SKIP() << "no CUDA device";
}

TEST(Crashes, ByASignal) { std::raise(SIGKILL); }

TEST(Crashes, AfterItSkipped) {
  std::atexit([] { std::raise(SIGKILL); });
  GTEST_SKIP() << "no CUDA device";
}

TEST(EndsEarly, WithStatus0) { std::_Exit(0); }

TEST(Hangs, ForAMinute) {
  std::puts("no CUDA device");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::minutes(1));
}

class Parameter : public testing::TestWithParam<std::string> {};
TEST_P(Parameter, IsText) { EXPECT_NE(GetParam(), "2; [x"); }
INSTANTIATE_TEST_SUITE_P(Sets, Parameter, testing::Values("1", "2; [x", "no \"CUDA\" device"));

template <typename>
class Typed : public testing::Test {};
using Types = testing::Types<int, std::pair<int, long>>;
TYPED_TEST_SUITE(Typed, Types);
TYPED_TEST(Typed, IsSmall) { EXPECT_LE(sizeof(TypeParam), 4u); }

}  // namespace
