// Runs a kernel on one cluster of blocks on the host. It shows faults of index arithmetic, and of
// assumptions about the order of events:
// - Threads run in random order, each up to its next barrier.
// - At times some blocks pause, so that others get far ahead of them.
// - Words that a block sends to another one, and asynchronous copies, arrive late.
// - Shared memory begins with a pattern, and not with zeros.
// A kernel that does something that no device allows ends with an exception: a barrier with two
// different numbers of threads, a write outside of a block, a phase that begins twice, or threads
// that wait for ever.
#pragma once

#include <cstddef>
#include <functional>

namespace latticino::emulation {

void run_cluster(int blocks, int threads, std::size_t shared_words, unsigned seed,
                 const std::function<void()>& kernel);

// In a kernel: lets other threads run until `ready`.
void wait_until(std::function<bool()> ready);

}  // namespace latticino::emulation
