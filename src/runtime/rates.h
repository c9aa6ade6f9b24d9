// Predicted times of programs: what a dry run counted, at measured rates. They are right within a
// factor 2 for single operations and for bootstrapping on machines like those measured
// (docs/performance.md). Processors with the same instruction set may differ by more than that.
#pragma once

#include <map>
#include <string>

#include "runtime/queue.h"

namespace latticino {

// seconds = records * launch + bytes / bytes_per_second + work / work_per_second + path /
// path_per_second, and the same in FP64, by name of record. If a rate is 0, that part is not
// counted.
struct RecordRate {
  double bytes_per_second = 0;
  double launch = 0;           // seconds
  double work_per_second = 0;  // see ops/effort.h
  double path_per_second = 0;
  double fourier_work_per_second = 0, fourier_path_per_second = 0;
};

struct RateTable {
  std::string device;  // where the rates were measured
  std::map<std::string, RecordRate> records;
  // In a table for one thread: t threads are t / (1 + overhead (t - 1)) times as fast. 1 for a GPU,
  // because more threads of the host do not make it faster.
  double thread_overhead = 1;
};

// One thread with kernels "avx512", "avx2" or "reference" (CpuChoice); UnsupportedError for others.
const RateTable& cpu_rates(const std::string& kernels);
const RateTable& cuda_rates();  // the rates of an H200
const RateTable& h100_rates();

// `threads`: for a CPU, the threads that run at the same time (CpuChoice::usable).
double predicted_seconds(const DryReport& report, const RateTable& table, int threads = 1);

}  // namespace latticino
