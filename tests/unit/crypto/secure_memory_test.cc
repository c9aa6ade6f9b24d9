#include "crypto/secure_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "crypto/random_stream.h"
#include "io/stream.h"
#include "math/errors.h"
#include "rlwe/client.h"
#include "tfhe/client.h"

namespace latticino::crypto {
namespace {

int released = 0, dirty = 0;

// Inspects each block when it is released.
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

// Runs in the child of a fork; its result is the child's status.
int in_child(const std::function<int()>& run) {
  const pid_t child = fork();
  if (child == 0) _exit(run());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SecureMemory, AForkedChildFindsZeros) {
  LockedVector<std::uint8_t> secret(5000, 77);
  EXPECT_EQ(in_child([&] { return std::count(secret.begin(), secret.end(), 0) == 5000 ? 0 : 1; }),
            0);
  EXPECT_EQ(std::count(secret.begin(), secret.end(), 77), 5000);
}

TEST(SecureMemory, SecretKeysAreRefusedInAForkedChild) {
  rlwe::Random random = rlwe::Random::insecure_from_seed({});
  const rlwe::SecretKey ring = rlwe::SecretKey::generate(preset("test-n10-boot-insecure"), random);
  const tfhe::SecretKey lwe =
      tfhe::SecretKey::generate(tfhe_preset("test-tfhe-2-2-tiny-insecure"), random);
  const std::function<void()> uses[] = {[&] { ring.coefficients(); },
                                        [&] { ring.sparse_coefficients(); }, [&] { lwe.lwe(); },
                                        [&] { lwe.glwe(); }};
  for (const auto& use : uses) {
    use();
    EXPECT_EQ(in_child([&] {
                try {
                  use();
                } catch (const KeyError&) {
                  return 0;
                }
                return 1;
              }),
              0);
  }
}

TEST(SecureMemory, ARandomStreamSeedsItselfAnewInAForkedChild) {
  rlwe::Random own, seeded = rlwe::Random::insecure_from_seed({});
  rlwe::Random same = rlwe::Random::insecure_from_seed({});
  const std::uint64_t next = same.next64();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(in_child([&] {
              const std::uint64_t x[2] = {own.next64(), seeded.next64()};
              return write(ends[1], x, sizeof x) == sizeof x ? 0 : 1;
            }),
            0);
  std::uint64_t x[2];
  ASSERT_EQ(read(ends[0], x, sizeof x), static_cast<ssize_t>(sizeof x));
  EXPECT_NE(x[0], own.next64());
  EXPECT_NE(x[1], next);
  EXPECT_EQ(seeded.next64(), next);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace latticino::crypto
