#include "runtime/rates.h"

#include <algorithm>

#include "math/errors.h"

namespace latticino {
namespace {

double quotient(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

}  // namespace

// From bench_records at N = 2^16: the rate between two sizes, and what is left at the smaller one.
// FromIntegers, which no benchmark times alone, is taken to be like ModRaise; Embed and Project of
// the CPU were timed beside other work, and scaled by what copies took at that time. TFHE's are
// from bench_gates (CPU) and the records of TFHE on the H200, within a factor 2 for batches
// of 1 and of thousands, rotations in FP64 on the GPU as well (a test); LweLinear, LweSlots, and
// ModSwitch and SampleExtract of the GPU, were not timed alone and count for little: they are taken
// to move bytes as polynomial records do, and FourierKey, which runs once a key, on both.
const RateTable& cpu_rates() {
  static const RateTable kTable{"Intel Xeon with AVX-512, one thread",
                                {
                                    {"Automorphism", {9.81e+09, 0}},
                                    {"BlindRotate", {0, 0, 3e+09}},
                                    {"Convert", {1.9e+09, 0}},
                                    {"Copy", {1.63e+10, 1.2e-05}},
                                    {"Dot", {7.84e+09, 0}},
                                    {"Embed", {8e+09, 0.0006}},
                                    {"ExpandUniform", {7.05e+08, 0.0011}},
                                    {"FourierKey", {8e+09, 0}},
                                    {"FromIntegers", {1.69e+10, 0.0003}},
                                    {"KeyInner", {8.34e+09, 0.00061}},
                                    {"Linear", {1.31e+10, 0}},
                                    {"LweKeySwitch", {1.2e+10, 0, 1.4e+10}},
                                    {"LweLinear", {8e+09, 0}},
                                    {"LweSlots", {2e+09, 0}},
                                    {"ModRaise", {1.69e+10, 0.0003}},
                                    {"ModSwitch", {2.9e+09, 0}},
                                    {"Project", {4.9e+09, 0.0014}},
                                    {"SampleExtract", {1.6e+09, 0}},
                                    {"SubtractScale", {7.6e+09, 0}},
                                    {"Tensor", {1.18e+10, 1.1e-05}},
                                    {"Transform", {8.3e+09, 1e-05}},
                                },
                                0.046};
  return kTable;
}

const RateTable& cuda_rates() {
  static const RateTable kTable{
      "NVIDIA H200",
      {
          {"Automorphism", {3.41e+12, 1.3e-06}},  {"BlindRotate", {0, 0, 1.25e+12, 2.7e+10}},
          {"Convert", {9.61e+11, 5.9e-06}},       {"Copy", {3.71e+12, 1.2e-06}},
          {"Dot", {3.85e+12, 5.1e-06}},           {"Embed", {7.14e+11, 1.8e-05}},
          {"ExpandUniform", {3.22e+11, 9.6e-08}}, {"FourierKey", {2e+12, 3e-06}},
          {"FromIntegers", {2.01e+12, 2.5e-06}},  {"KeyInner", {3.29e+12, 1.2e-05}},
          {"Linear", {4.05e+12, 7.6e-07}},        {"LweKeySwitch", {0, 2.8e-05, 5.4e+12}},
          {"LweLinear", {4.05e+12, 2e-06}},       {"LweSlots", {2e+12, 3e-06}},
          {"ModRaise", {2.01e+12, 2.5e-06}},      {"ModSwitch", {2e+12, 3e-06}},
          {"Project", {3.89e+11, 1.8e-05}},       {"SampleExtract", {2e+12, 3e-06}},
          {"SubtractScale", {2.99e+12, 4.7e-06}}, {"Tensor", {3.77e+12, 1.6e-06}},
          {"Transform", {2.81e+12, 3.2e-06}},
      },
      0};
  return kTable;
}

double predicted_seconds(const DryReport& report, const RateTable& table, int threads) {
  double seconds = 0;
  for (const auto& [name, bytes] : report.bytes_by_name) {
    const auto found = table.records.find(name);
    if (found == table.records.end()) {
      throw UnsupportedError("predicted_seconds", "the record " + name, "a measured rate",
                             "time the program itself");
    }
    const RecordRate& rate = found->second;
    const auto found_effort = report.effort_by_name.find(name);
    const Effort effort =
        found_effort == report.effort_by_name.end() ? Effort{} : found_effort->second;
    seconds += quotient(static_cast<double>(bytes), rate.bytes_per_second) +
               static_cast<double>(report.operations_by_name.at(name)) * rate.launch +
               quotient(effort.work, rate.work_per_second) +
               quotient(effort.path, rate.path_per_second);
  }
  const int t = std::max(1, threads);
  return seconds * (1 + table.thread_overhead * (t - 1)) / t;
}

}  // namespace latticino
