// The most that a device can do of each kind of work, measured by loops that do nothing else.
#pragma once

#include <string>
#include <vector>

#include "support/common.h"
#include "support/sample.h"

namespace latticino::bench {

// One rate: operations or bytes per second, from several runs.
struct Ceiling {
  std::string name;  // "multiply" and so on: docs/lab/roofline.md says what each is
  std::string unit;  // "1/s" or "B/s"
  Sample rate;
  Row params;
};

std::vector<Ceiling> cpu_ceilings(int threads, int runs, Clock clock);
std::string cpu_name();
std::vector<Ceiling> gpu_ceilings(int runs);  // DeviceError if there is no GPU
std::string gpu_name();

// Rates of runs that took so many seconds for so much work.
inline Sample rate_of(double work, std::vector<double> seconds) {
  for (double& s : seconds) s = work / s;
  return sample_of(std::move(seconds));
}

// Throws if the loops computed something else than plain code: then they did not do the work that
// is counted.
inline void require_right(bool right, const char* what) {
  if (right) return;
  throw ValueError("bench.ceilings", std::string("wrong values of ") + what,
                   "those of plain arithmetic", "report this compiler");
}

}  // namespace latticino::bench
