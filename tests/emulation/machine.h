// Runs a kernel on one cluster of blocks on the host: for its index arithmetic, and for what it
// takes for granted about the order of things. Threads run in random order up to the next barrier,
// and some blocks rest while others go on; words between blocks and asynchronous copies arrive as
// late as they may; shared memory begins with a pattern. What cannot be on a device (a barrier met
// by two numbers of threads, a write outside of a block, a phase begun twice, threads that wait for
// ever) is an exception.
#pragma once

#include <cstddef>
#include <functional>

namespace latticino::emulation {

void run_cluster(int blocks, int threads, std::size_t shared_words, unsigned seed,
                 const std::function<void()>& kernel);

// In a kernel: lets other threads run until `ready`.
void wait_until(std::function<bool()> ready);

}  // namespace latticino::emulation
