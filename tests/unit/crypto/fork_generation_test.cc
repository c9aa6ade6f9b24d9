// A process is distinguished from those that it was made from, however it was made.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "crypto/random_stream.h"

namespace latticino::crypto {
namespace {

// Whether `holds` is true in a child that `make` makes.
bool in_child(const std::function<pid_t()>& make, const std::function<bool()>& holds) {
  const pid_t child = make();
  if (child == 0) _exit(holds() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Makes a child without running handlers of pthread_atfork.
pid_t bare_clone() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }

TEST(ForkGeneration, IsOneInAllThreadsOfAProcess) {
  const std::uint64_t here = fork_generation();
  EXPECT_NE(here, 0u);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(fork_generation(), here); });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(fork_generation(), here);
}

TEST(ForkGeneration, DiffersInChildrenAndTheirChildren) {
  const std::uint64_t here = fork_generation(), counted = counted_generation();
  const auto fresh = [&] {
    const std::uint64_t child = fork_generation();
    const bool differs = child != here && counted_generation() != counted;
    return differs && fork_generation() == child &&
           in_child([] { return fork(); },
                    [&] { return fork_generation() != child && fork_generation() != here; });
  };
  EXPECT_TRUE(in_child([] { return fork(); }, fresh));
  EXPECT_EQ(fork_generation(), here);
}

TEST(ForkGeneration, DiffersInABareClone) {
  const std::uint64_t here = fork_generation();
  EXPECT_TRUE(in_child(bare_clone, [&] {
    const std::uint64_t child = fork_generation();
    return child != here && fork_generation() == child;
  }));
  EXPECT_EQ(fork_generation(), here);
}

}  // namespace
}  // namespace latticino::crypto
