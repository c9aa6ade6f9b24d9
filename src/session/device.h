// Which device a context computes on, and whose measured rates predict its times.
#pragma once

#include <memory>
#include <string>

#include "runtime/queue.h"
#include "runtime/rates.h"

namespace latticino::session {

struct DeviceChoice {
  std::string kind = "cpu";  // or "cuda"
  int index = 0;             // of the GPU
  std::string name() const { return kind == "cpu" ? kind : kind + ":" + std::to_string(index); }
};
// "cpu", "cuda", "cuda:1"; empty: CUDA where it was built and a GPU answers, else the CPU.
// DeviceError for others, and where CUDA is not there.
DeviceChoice choose_device(const std::string& device);

// UnsupportedError for tuning on the CPU, DeviceError for CUDA after a fork, ValueError for a count
// of threads below 0 or above 4096.
std::unique_ptr<Queue> make_queue(const DeviceChoice& device, int threads, bool simd,
                                  const std::string& tuning);

// "cuda" (an H200), "cuda-h100", or kernels of a CPU (CpuChoice), and how many of its threads run
// at once.
struct RateDevice {
  std::string kernels = "cuda";
  int threads = 1;
};
RateDevice rate_device(const DeviceChoice& device, int threads, bool simd);
// Of the GPU with this index: that of an H200 for GPUs without rates of their own, or where there
// is none.
std::string timed_gpu(int index);
const RateTable& rates_of(const std::string& kernels);
// What a plan takes from a dry run.
struct DryCounts {
  std::uint64_t operations = 0, bytes_moved = 0;
  std::uint64_t rotations = 0, rounds = 0;  // blind rotations, and the records that hold them
  double seconds = 0;                       // predicted
};
DryCounts counts_of(const DryReport& report, const RateDevice& timed);
// Whether FP64 is fast: on GPUs made for it, and with vector code on a CPU.
bool fast_doubles(const DeviceChoice& device, int threads, bool simd);

}  // namespace latticino::session
