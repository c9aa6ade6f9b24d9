#include "backend/cpu/thread_pool.h"

#if !defined(__EMSCRIPTEN__)
#include <sched.h>
#endif

#include <algorithm>
#include <utility>

#include "math/interrupt.h"

namespace latticino::cpu {

int available_cores() {
#if defined(__EMSCRIPTEN__)
  return 1;  // the WebAssembly module has no threads
#else
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#endif
}

ThreadPool::~ThreadPool() {
  work_ = nullptr;
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::start() {
  if (!workers_.empty()) return;
  for (int thread = 1; thread < threads_; ++thread) {
    workers_.emplace_back([this, thread] { serve(thread); });
  }
}

void ThreadPool::serve(int thread) {
  for (unsigned seen = 0;;) {
    generation_.wait(seen);
    // A new job starts only after every worker has finished the one before, so no worker skips a
    // job.
    seen = generation_.load();
    if (work_ == nullptr) return;
    take_units(thread);
    if (busy_.fetch_sub(1) == 1) busy_.notify_one();
  }
}

void ThreadPool::take_units(int thread) noexcept {
  for (;;) {
    const std::size_t unit = next_.fetch_add(1, std::memory_order_relaxed);
    if (unit >= units_) return;
    try {
      if (thread == 0) check_interrupt();  // the caller's own thread
      (*work_)(unit, thread);
    } catch (...) {
      next_ = units_;  // after an exception, no further unit begins
      const std::lock_guard lock(error_mutex_);
      if (error_ == nullptr) error_ = std::current_exception();
    }
  }
}

void ThreadPool::run(std::size_t units, const std::function<void(std::size_t, int)>& work) {
  work_ = &work;
  units_ = units;
  next_ = 0;
  if (threads_ == 1 || units == 1) {
    take_units(0);
  } else {
    start();
    busy_ = threads_ - 1;
    generation_.fetch_add(1);
    generation_.notify_all();
    take_units(0);
    for (int left = busy_.load(); left != 0; left = busy_.load()) busy_.wait(left);
  }
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace latticino::cpu
