// Repeated timings of replayed programs, with their spread.
#pragma once

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "runtime/queue.h"
#include "support/common.h"

namespace latticino::bench {

// Median and quartiles: half of all runs lie between low and high.
struct Sample {
  double median = 0, low = 0, high = 0;
  int runs = 0;

  Sample over(double count) const { return {median / count, low / count, high / count, runs}; }
  // value, unit, median_of and the spread.
  void add_to(Row& row, const char* unit) const {
    row.add("value", median).add("unit", unit).add("median_of", runs);
    row.add("low", low).add("high", high);
  }
};

inline Sample sample_of(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  const auto at = [&](double part) {
    return x[static_cast<std::size_t>(part * static_cast<double>(x.size() - 1) + 0.5)];
  };
  return x.empty() ? Sample{} : Sample{median(x), at(0.25), at(0.75), static_cast<int>(x.size())};
}

// Processor: the processor time of all threads of the process. For one thread on a machine that
// other programs use.
enum class Clock { Wall, Processor };

// Seconds of `runs` calls of `body` and the synchronisation after each.
inline Sample timed(int runs, const std::function<void()>& body,
                    const std::function<void()>& synchronize, Clock clock = Clock::Wall) {
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) {
    const Stopwatch watch;
    const std::clock_t start = std::clock();
    body();
    synchronize();
    const double used = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    seconds.push_back(clock == Clock::Processor ? used : watch.seconds());
  }
  return sample_of(std::move(seconds));
}

// Seconds of a recorded body, after one replay that is not counted.
inline Sample replayed(Queue& queue, int runs, const std::function<void()>& body,
                       Clock clock = Clock::Wall) {
  Program program = queue.record(body);
  program.run();
  queue.synchronize();
  return timed(
      runs, [&] { program.run(); }, [&] { queue.synchronize(); }, clock);
}

}  // namespace latticino::bench
