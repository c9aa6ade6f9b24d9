// The device that a context computes on, and the device whose measured rates predict its times.
#pragma once

#include <memory>
#include <string>

#include "runtime/queue.h"
#include "runtime/rates.h"

namespace latticino::session {

struct DeviceChoice {
  std::string kind = "cpu";  // "cpu" or "cuda"
  int index = 0;             // index of the GPU
  std::string name() const { return kind == "cpu" ? kind : kind + ":" + std::to_string(index); }
};
// "cpu", "cuda", or for example "cuda:1". Empty: CUDA if the library was built with it and a GPU
// answers, otherwise the CPU. DeviceError for other words, and if CUDA is not available.
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
// The rates for the GPU with this index: those of an H200 if the GPU has no rates of its own, or if
// there is no GPU.
std::string timed_gpu(int index);
const RateTable& rates_of(const std::string& kernels);
// What a plan takes from a dry run.
struct DryCounts {
  std::uint64_t operations = 0, bytes_moved = 0;
  std::uint64_t rotations = 0, rounds = 0;  // blind rotations, and the records with them
  double seconds = 0;                       // predicted seconds
};
DryCounts counts_of(const DryReport& report, const RateDevice& timed);
// Whether FP64 is fast: on GPUs that are made for it, and on CPUs with vector code.
bool fast_doubles(const DeviceChoice& device, int threads, bool simd);

}  // namespace latticino::session
