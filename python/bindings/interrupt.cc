// Ctrl-C while the core works. The signal handler calls Python's own handler, and then sets a flag
// that long work reads (math/interrupt.h). The main thread then lets Python run its handlers, as
// Python does between two of its instructions.
#include "math/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "bindings.h"

namespace latticino::python {
namespace {

pthread_t main_thread;       // Python's main thread
struct sigaction of_python;  // the previous handler of the signal
std::atomic<bool> threads_stop{false};

void on_signal(int signal, siginfo_t* info, void* state) {
  if ((of_python.sa_flags & SA_SIGINFO) != 0) {
    of_python.sa_sigaction(signal, info, state);
  } else {
    of_python.sa_handler(signal);
  }
  interrupt::requested.store(
      // called last, because Python must know of the signal first
      true, std::memory_order_relaxed);
}

// The main thread handles signals. If the handlers raise nothing, the work goes on.
void ask_python() {
  if (pthread_equal(pthread_self(), main_thread) == 0) {
    if (!threads_stop.load()) return;
    const nb::gil_scoped_acquire gil;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  const nb::gil_scoped_acquire gil;
  interrupt::requested.store(false, std::memory_order_relaxed);
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

// Python code may have replaced the handler since the last call, and with it ours.
void watch_interrupts() noexcept {
  if (pthread_equal(pthread_self(), main_thread) == 0) return;
  // Reading the handler is a system call, so calls in quick succession share one.
  constexpr long kInterval = 10'000'000;  // in nanoseconds
  static timespec last{};                 // only the main thread uses it
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  if (time.tv_sec == last.tv_sec && time.tv_nsec - last.tv_nsec < kInterval) return;
  last = time;
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool has_details = (now.sa_flags & SA_SIGINFO) != 0;
  if (has_details && now.sa_sigaction == on_signal) return;
  // If a program ignores the signal, or lets it end the process, no handler is needed.
  if (!has_details && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)) return;
  of_python = now;
  struct sigaction ours = now;
  ours.sa_sigaction = on_signal;
  ours.sa_flags |= SA_SIGINFO;
  sigaction(SIGINT, &ours, nullptr);
}

void bind_interrupts(nb::module_& m) {
  m.def(
      "stop_threads",
      [](bool stop) {
        threads_stop.store(stop);
        interrupt::requested.store(stop);
      },
      "stop"_a,
      "Whether work of all threads but the main one ends with KeyboardInterrupt: for who waits for "
      "them "
      "and was interrupted.");
  main_thread = static_cast<pthread_t>(nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident")));
  pthread_atfork(nullptr, nullptr, [] {
    main_thread = pthread_self();
    interrupt::requested.store(false, std::memory_order_relaxed);
  });
  interrupt::handle.store(ask_python);
}

}  // namespace latticino::python
