// Bundles of keys within a budget: which are moved out, which stay, and what happens if loading
// fails.
#include "session/key_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "math/errors.h"

namespace latticino::session {
namespace {

using namespace std::chrono_literals;

// A bundle of one block with a number in it.
struct Numbers : KeyBundle {
  Buffer block;
  std::shared_ptr<Queue> queue;
  std::uint64_t bytes() const override { return block->bytes(); }
  std::vector<std::uint8_t> stored() const override {
    std::vector<std::uint8_t> out(block->bytes());
    queue->copy_out(out.data(), block->data(), out.size());
    return out;
  }
};

constexpr std::size_t kBytes = 4096;

class KeyStoreTest : public testing::Test {
 protected:
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>(make_cpu_backend({true, 1}));
  std::atomic<int> loads_{0};
  std::atomic<bool> broken_{false};

  std::shared_ptr<KeyBundle> made(std::span<const std::uint8_t> bytes) {
    auto bundle = std::make_shared<Numbers>();
    bundle->queue = queue_;
    bundle->block = queue_->allocate(bytes.size());
    queue_->copy_in(bundle->block->data(), bytes.data(), bytes.size());
    return bundle;
  }
  KeyStore::Handle add(KeyStore& store, std::uint8_t number, std::size_t bytes = kBytes) {
    const std::vector<std::uint8_t> data(bytes, number);
    return store.add(std::to_string(number), made(data),
                     [this](std::span<const std::uint8_t> from) {
                       if (broken_)
                         throw OutOfMemoryError("test", "nothing", "something", "try again");
                       ++loads_;
                       return made(from);
                     });
  }
  int number_in(const KeyStore::Pin& pin) {
    std::vector<std::uint8_t> out = pin->stored();
    for (const std::uint8_t byte : out) EXPECT_EQ(byte, out.front());
    return out.front();
  }
};

TEST_F(KeyStoreTest, TheOneThatWasNotUsedForTheLongestTimeGoes) {
  KeyStore store(queue_, 2 * kBytes);
  const auto a = add(store, 1), b = add(store, 2);
  store.pin(a);
  const auto c = add(store, 3);
  const auto uses = store.uses();
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_TRUE(uses[0].resident);
  EXPECT_FALSE(uses[1].resident);
  EXPECT_EQ(uses[1].evictions, 1u);
  EXPECT_EQ(uses[1].host_bytes, kBytes);
  EXPECT_TRUE(uses[2].resident);
  EXPECT_LE(queue_->live_bytes(), 2 * kBytes);
  EXPECT_EQ(number_in(store.pin(b)), 2);
  EXPECT_EQ(loads_, 1);
  EXPECT_FALSE(store.uses()[0].resident);
}

TEST_F(KeyStoreTest, WhatIsPinnedStaysAndWhatIsReleasedGoes) {
  KeyStore store(queue_, kBytes, 20ms);
  const auto a = add(store, 1);
  auto pin = store.pin(a, true);
  EXPECT_THROW(add(store, 2), OutOfMemoryError);
  EXPECT_EQ(number_in(pin), 1);
  EXPECT_TRUE(store.uses()[0].pinned);
  pin.reset();
  const auto b = add(store, 2);
  EXPECT_FALSE(store.uses()[0].resident);
  // The store waits for a running operation, but not for ever.
  const auto running = store.pin(b);
  EXPECT_THROW(store.pin(a), OutOfMemoryError);
}

// On a busy machine the other thread may begin late: the store waits longer than that.
TEST_F(KeyStoreTest, ARunningOperationIsWaitedFor) {
  KeyStore store(queue_, kBytes, 60s);
  const auto a = add(store, 1), b = add(store, 2);
  auto running = store.pin(b);
  std::jthread ends([&] {
    std::this_thread::sleep_for(5ms);
    running.reset();
  });
  EXPECT_EQ(number_in(store.pin(a)), 1);
}

TEST_F(KeyStoreTest, ABundleOverTheBudgetIsRefusedAndAHandleEndsABundle) {
  KeyStore store(queue_, kBytes);
  EXPECT_THROW(add(store, 1, 2 * kBytes), OutOfMemoryError);
  EXPECT_TRUE(store.uses().empty());
  auto a = add(store, 1);
  a.reset();
  EXPECT_TRUE(store.uses().empty());
  EXPECT_EQ(queue_->live_bytes(), 0u);
}

TEST_F(KeyStoreTest, AFailureToLoadLeavesTheBundleForTheNextUse) {
  KeyStore store(queue_, kBytes);
  const auto a = add(store, 1), b = add(store, 2);
  broken_ = true;
  EXPECT_THROW(store.pin(a), OutOfMemoryError);
  EXPECT_EQ(number_in((broken_ = false, store.pin(a))), 1);
  EXPECT_EQ(number_in(store.pin(b)), 2);
}

TEST_F(KeyStoreTest, ThreadsShareABudgetForFewerBundles) {
  for (const int threads : {2, 8}) {
    KeyStore store(queue_, 2 * kBytes);
    std::vector<KeyStore::Handle> bundles;
    for (int i = 0; i < threads; ++i)
      bundles.push_back(add(store, static_cast<std::uint8_t>(i + 1)));
    std::atomic<int> wrong{0}, calls{0};
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < threads; ++i) {
        workers.emplace_back([&, i] {
          for (int k = 0; k < 100; ++k) {
            try {
              if (number_in(store.pin(bundles[(i + k) % threads])) != (i + k) % threads + 1)
                ++wrong;
            } catch (const Error&) {
              ++wrong;
            }
            ++calls;
          }
        });
      }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(calls, 100 * threads);
    std::uint64_t resident = 0;
    for (const auto& use : store.uses()) resident += use.resident ? use.bytes : 0;
    EXPECT_LE(resident, 2 * kBytes);
  }
}

}  // namespace
}  // namespace latticino::session
