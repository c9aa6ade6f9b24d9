// Interrupts long work between two of its steps, when its caller does not need it any more (Ctrl-C,
// for example). A signal handler sets the flag. Steps of long work read it, which takes one atomic
// load, and call the function that the program installed. It may throw, so it is called only where
// throwing is safe: operands stay usable, and unfinished results are dropped.
#pragma once

#include <atomic>

namespace latticino {

namespace interrupt {

inline std::atomic<bool> requested{false};       // set by a signal handler
inline std::atomic<void (*)()> handle{nullptr};  // called by the thread that sees the flag

}  // namespace interrupt

// Throws what the installed function throws. Does nothing if no function is installed.
inline void check_interrupt() {
  if (!interrupt::requested.load(std::memory_order_relaxed)) [[likely]]
    return;
  if (void (*handle)() = interrupt::handle.load()) handle();
}

}  // namespace latticino
