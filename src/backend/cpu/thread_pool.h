#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace latticino::cpu {

// Threads of one backend instance. They sleep between jobs, so that several contexts do not take
// cores from each other. In a job, each thread takes the next unit of work from a shared counter
// until none is left.
class ThreadPool {
 public:
  explicit ThreadPool(int threads) : threads_(threads) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  // work(unit, thread) for every unit below `units`, thread < threads(); the caller is thread 0.
  // Returns when all are done; rethrows the first exception. Not reentrant.
  void run(std::size_t units, const std::function<void(std::size_t, int)>& work);

 private:
  void start();
  void serve(int thread);
  void take_units(int thread) noexcept;

  int threads_;
  std::vector<std::thread> workers_;  // started by the first job
  const std::function<void(std::size_t, int)>* work_ = nullptr;
  std::size_t units_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<int> busy_{0};
  std::atomic<unsigned> generation_{0};  // counts jobs; a job without work ends the workers
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

int available_cores();  // the number of cores that this process may run on

}  // namespace latticino::cpu
