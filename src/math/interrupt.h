// How long work is given up between two of its steps, because whoever asked for it does not want it
// any more. A signal handler sets the flag; steps of long work look at it, at the cost of one
// atomic load, and call what the program around the library installed. That may throw. It is called
// only where throwing is safe: operands stay usable, results in the making are dropped.
#pragma once

#include <atomic>

namespace latticino {

namespace interrupt {

inline std::atomic<bool> requested{false};       // set by a signal handler
inline std::atomic<void (*)()> handle{nullptr};  // called by the thread that sees the flag

}  // namespace interrupt

// Throws what the installed function throws. Does nothing where none is installed.
inline void check_interrupt() {
  if (!interrupt::requested.load(std::memory_order_relaxed)) [[likely]]
    return;
  if (void (*handle)() = interrupt::handle.load()) handle();
}

}  // namespace latticino
