#include "crypto/per_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace latticino::crypto {
namespace {

using Values = PerProcess<int, std::string>;

TEST(PerProcess, ThreadsGetTheOneValueOfAKey) {
  auto& values = *new Values(100);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int key = 0; key < 50; ++key) {
        const auto make = [&] {
          ++made;
          return std::to_string(key);
        };
        EXPECT_EQ(values.get(key, make), std::to_string(key));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 50);
}

TEST(PerProcess, OtherKeysDoNotWait) {
  auto& values = *new Values(100);
  std::promise<void> begun, other_is_there;
  std::thread slow([&] {
    values.get(1, [&] {
      begun.set_value();
      other_is_there.get_future().wait();
      return std::string("slow");
    });
  });
  begun.get_future().wait();
  EXPECT_EQ(values.get(2, [] { return std::string("fast"); }), "fast");
  other_is_there.set_value();
  slow.join();
  EXPECT_EQ(values.get(1, [] { return std::string("again"); }), "slow");
}

TEST(PerProcess, WhatCannotBeMadeIsTriedAgain) {
  auto& values = *new Values(100);
  const auto fails = []() -> std::string { throw std::runtime_error("no value"); };
  EXPECT_THROW(values.get(1, fails), std::runtime_error);
  EXPECT_EQ(values.get(1, [] { return std::string("value"); }), "value");
  EXPECT_EQ(values.get(1, fails), "value");
}

TEST(PerProcess, KeepsAtMostSoMany) {
  auto& values = *new Values(3);
  int made = 0;
  const auto make = [&] { return std::to_string(++made); };
  const auto fails = []() -> std::string { throw std::runtime_error("no value"); };
  for (const int key : {1, 2, 1, 2}) values.get(key, make);
  EXPECT_EQ(made, 2);
  for (const int key : {3, 4, 5}) EXPECT_THROW(values.get(key, fails), std::runtime_error);
  EXPECT_EQ(values.get(1, make), "1") << "keys without values take no place";
  values.get(3, make);
  values.get(4, make);  // all other values were dropped
  EXPECT_EQ(values.get(1, make), "5");
}

// The thread that makes a value does not exist in the child, which must not wait for it.
TEST(PerProcess, TheChildOfAForkBeginsAnew) {
  auto& values = *new Values(100);
  values.get(2, [] { return std::string("the parent's"); });
  std::promise<void> begun, forked;
  std::thread slow([&] {
    values.get(1, [&] {
      begun.set_value();
      forked.get_future().wait();
      return std::string("slow");
    });
  });
  begun.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that hangs
    const auto make = [] { return std::string("the child's"); };
    _exit(values.get(1, make) == "the child's" && values.get(2, make) == "the child's" ? 0 : 1);
  }
  forked.set_value();
  slow.join();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(values.get(1, [] { return std::string("again"); }), "slow");
}

}  // namespace
}  // namespace latticino::crypto
