#include "session/device.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "backend/cpu_choice.h"
#include "backend/gpu_arch.h"
#include "crypto/random_stream.h"
#include "math/errors.h"

namespace latticino::session {
namespace {

constexpr int kMaxThreads = 4096;

void require_cuda(int index) {
  if (!cuda_built()) {
    throw DeviceError("Context", "a build without CUDA", "the CUDA backend for device \"cuda\"",
                      "build with nvcc (LATTICINO_CUDA=on), or name the device \"cpu\"");
  }
  const int count = cuda_device_count();
  if (index >= count) {
    throw DeviceError("Context", std::to_string(count) + " CUDA devices",
                      "device " + std::to_string(index),
                      "check nvidia-smi and the driver, or name the device \"cpu\"");
  }
}

// If a process was forked after CUDA started, CUDA fails there with messages that do not name the
// cause.
void require_first_process() {
  static std::atomic<std::uint64_t> started{0};
  const std::uint64_t process = crypto::fork_generation();
  std::uint64_t first = 0;
  if (!started.compare_exchange_strong(first, process) && first != process) {
    throw DeviceError("Context", "a process forked from one that uses CUDA",
                      "a process that CUDA did not run in before",
                      "start processes with multiprocessing's method \"spawn\"");
  }
}

}  // namespace

DeviceChoice choose_device(const std::string& device) {
  if (device.empty()) {
    return {cuda_built() && cuda_device_count() > 0 ? "cuda" : "cpu", 0};
  }
  const std::size_t colon = device.find(':');
  const std::string kind = device.substr(0, colon);
  const std::string index = colon == std::string::npos ? "" : device.substr(colon + 1);
  const bool numbered =
      index.size() < 4 && std::ranges::all_of(index, [](char c) { return c >= '0' && c <= '9'; });
  if ((kind != "cpu" && kind != "cuda") || !numbered ||
      (colon != std::string::npos && (kind == "cpu" || index.empty()))) {
    throw DeviceError("Context", "device \"" + device + "\"", "\"cpu\", \"cuda\" or \"cuda:1\"",
                      "name one of them");
  }
  const int number = index.empty() ? 0 : std::stoi(index);
  if (kind == "cuda") require_cuda(number);
  return {kind, number};
}

std::unique_ptr<Queue> make_queue(const DeviceChoice& device, int threads, bool simd,
                                  const std::string& tuning) {
  if (threads < 0 || threads > kMaxThreads) {
    throw ValueError("Context", "threads=" + std::to_string(threads),
                     "an integer from 0 to " + std::to_string(kMaxThreads), "correct it");
  }
  if (device.kind == "cpu") {
    if (!tuning.empty()) {
      throw UnsupportedError("Context", "tuning \"" + tuning + "\" on the CPU",
                             "the device \"cuda\", whose kernels have variants",
                             "leave tuning out");
    }
    return std::make_unique<Queue>(make_cpu_backend({.simd = simd, .threads = threads}));
  }
  if (device.kind == "cuda") {
    require_first_process();
    CudaOptions options;
    options.device = device.index;
    options.tuning_file = tuning;
    return std::make_unique<Queue>(make_cuda_backend(options));
  }
  throw DeviceError("Context", "device \"" + device.kind + "\"", "\"cpu\" or \"cuda\"",
                    "name one of them");
}

RateDevice rate_device(const DeviceChoice& device, int threads, bool simd) {
  if (device.kind == "cuda") return {timed_gpu(device.index), 1};
  const CpuChoice cpu = cpu_choice({.simd = simd, .threads = threads});
  return {cpu.kernels, cpu.usable};
}

std::string timed_gpu(int index) {
  return gpu_name(index).find("H100") == std::string::npos ? "cuda" : "cuda-h100";
}

const RateTable& rates_of(const std::string& kernels) {
  if (kernels == "cuda-h100") return h100_rates();
  return kernels == "cuda" ? cuda_rates() : cpu_rates(kernels);
}

DryCounts counts_of(const DryReport& report, const RateDevice& timed) {
  const auto at = report.effort_by_name.find("BlindRotate");
  const bool rotates = at != report.effort_by_name.end();
  return {.operations = report.operations,
          .bytes_moved = report.bytes_moved,
          .rotations = rotates ? at->second.items : 0,
          .rounds = rotates ? report.operations_by_name.at("BlindRotate") : 0,
          .seconds = predicted_seconds(report, rates_of(timed.kernels), timed.threads)};
}

bool fast_doubles(const DeviceChoice& device, int threads, bool simd) {
  if (device.kind == "cuda") return cuda_has_fast_doubles(device.index);
  return cpu_choice({.simd = simd, .threads = threads}).kernels != "reference";
}

}  // namespace latticino::session
