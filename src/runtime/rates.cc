#include "runtime/rates.h"

#include <algorithm>

#include "math/errors.h"

namespace latticino {
namespace {

double quotient(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

// The rates are from bench_records at N = 2^16, one thread. No benchmark times FromIntegers alone;
// it has the rate of ModRaise. On a CPU only clients run SampleGaussian, which has the rate of
// ExpandUniform; on the GPU its rate is from bench_client. Rates of TFHE are from bench_gates (CPU)
// and the records of TFHE on the H200. A test checks that they are right within a factor 2, for
// batches of 1 and of thousands, and for rotations in FP64 on the GPU. These were not timed alone,
// and have the rates of polynomial records by bytes: LweLinear, LweSlots, FourierKey (once per
// key), and ModSwitch and SampleExtract of the GPU, of AVX2 and of plain code. They take little
// time. LweKeySwitch of AVX2 and plain code is that of AVX-512, scaled. A gate of tfhe-gates-v1
// by plain code takes 2.3 times as long in FP64 as in exact arithmetic, one of tfhe-gates-v2 1.4
// times (bench/records/2026-11-26-xeon-tfhe-plain.json). Transform has the rate of
// `poly.intt_rows` in every table, between Half and Eval. Whole transforms read and write the limbs
// twice and get twice the time; they took 1.2 to 2.6 times as long in the same records.

// The overhead of each further thread, relative to the time of one. It is the same for all CPU
// kernels.
constexpr double kThreadOverhead = 0.046;

// The rate between two sizes, and the time at the smaller one that this leaves. Embed and Project
// were timed while other work ran; they are scaled by what copies took at that time.
const RateTable& avx512_rates() {
  static const RateTable kTable{"Intel Xeon with AVX-512, one thread",
                                {
                                    {"Automorphism", {9.81e+09, 0}},
                                    {"BlindRotate", {0, 0, 3e+09, 0, 3e+09, 0}},
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
                                    {"SampleGaussian", {7.05e+08, 0.0011}},
                                    {"ModDownFinish", {7.6e+09, 0}},
                                    {"Tensor", {1.18e+10, 1.1e-05}},
                                    {"Transform", {8.3e+09, 1e-05, 8.3e+09}},
                                },
                                kThreadOverhead};
  return kTable;
}

// The geometric mean of the rates at 47, 13 and 7 limbs, in processor time. Automorphisms have
// become faster since then: their rate is 0.36 of the copy's, as on a newer processor.
const RateTable& avx2_rates() {
  static const RateTable kTable{
      "AMD EPYC with AVX2, one thread",
      {
          {"Automorphism", {3.8e+09}},   {"BlindRotate", {0, 0, 8.3e+08, 0, 9e+08, 0}},
          {"Convert", {5.06e+08}},       {"Copy", {1.05e+10}},
          {"Dot", {3.76e+09}},           {"Embed", {1.26e+09}},
          {"ExpandUniform", {1.32e+08}}, {"FourierKey", {2.2e+09}},
          {"FromIntegers", {1.85e+09}},  {"KeyInner", {1.84e+09}},
          {"Linear", {7.78e+09}},        {"LweKeySwitch", {4.4e+09, 0, 5.2e+09}},
          {"LweLinear", {2.2e+09}},      {"LweSlots", {6e+08}},
          {"ModRaise", {1.85e+09}},      {"ModSwitch", {7e+08}},
          {"Project", {9.29e+08}},       {"SampleExtract", {6e+08}},
          {"ModDownFinish", {2.46e+09}}, {"SampleGaussian", {1.32e+08}},
          {"Tensor", {2.58e+09}},        {"Transform", {1.51e+09, 0, 1.51e+09}},
      },
      kThreadOverhead};
  return kTable;
}

// The same at 23 and 7 limbs.
const RateTable& reference_rates() {
  static const RateTable kTable{
      "AMD EPYC, plain code, one thread",
      {
          {"Automorphism", {3.86e+09}},  {"BlindRotate", {0, 0, 1.8e+08, 0, 6e+07, 0}},
          {"Convert", {2.66e+08}},       {"Copy", {1.13e+10}},
          {"Dot", {2.42e+09}},           {"Embed", {9.81e+08}},
          {"ExpandUniform", {1.45e+08}}, {"FourierKey", {8e+08}},
          {"FromIntegers", {1.54e+09}},  {"KeyInner", {7.22e+08}},
          {"Linear", {4.53e+09}},        {"LweKeySwitch", {2e+09, 0, 2.4e+09}},
          {"LweLinear", {8e+08}},        {"LweSlots", {4e+08}},
          {"ModRaise", {1.54e+09}},      {"ModSwitch", {4e+08}},
          {"Project", {8.33e+08}},       {"SampleExtract", {4e+08}},
          {"ModDownFinish", {6.63e+08}}, {"SampleGaussian", {1.45e+08}},
          {"Tensor", {3.02e+09}},        {"Transform", {6.65e+08, 0, 6.65e+08}},
      },
      kThreadOverhead};
  return kTable;
}

}  // namespace

const RateTable& cpu_rates(const std::string& kernels) {
  if (kernels == "avx512") return avx512_rates();
  if (kernels == "avx2") return avx2_rates();
  if (kernels == "reference") return reference_rates();
  throw UnsupportedError("cpu_rates", "kernels " + kernels, "avx512, avx2 or reference",
                         "measure their rates");
}

// From bench/records/2026-11-22-h200-passes.json, at 47 and 7 limbs.
const RateTable& cuda_rates() {
  constexpr RecordRate kRotations{0, 0, 1.25e+12, 2.7e+10, 1.6e+12, 2.8e+10};
  // Bytes that are read again take as long as others, and so does each further launch.
  constexpr double kDotBytes = 3.77e+12, kDotLaunch = 4.6e-06;
  constexpr RecordRate kDot{kDotBytes, kDotLaunch, kDotBytes, 1 / kDotLaunch};
  static const RateTable kTable{
      "NVIDIA H200",
      {
          {"Automorphism", {3.31e+12, 1.4e-06}},  {"BlindRotate", kRotations},
          {"Convert", {1.3e+12, 4e-06}},          {"Copy", {3.66e+12, 1.4e-06}},
          {"Embed", {1.09e+12, 1.6e-05}},         {"Dot", kDot},
          {"ExpandUniform", {3.21e+11, 2.3e-07}}, {"FourierKey", {2e+12, 3e-06}},
          {"FromIntegers", {2.42e+12, 2.6e-06}},  {"KeyInner", {3.82e+12, 6.9e-06}},
          {"Linear", {4.04e+12, 7.7e-07}},        {"LweKeySwitch", {0, 2.8e-05, 5.4e+12}},
          {"LweLinear", {4.05e+12, 2e-06}},       {"LweSlots", {2e+12, 3e-06}},
          {"ModRaise", {2.42e+12, 2.6e-06}},      {"ModSwitch", {2e+12, 3e-06}},
          {"Project", {4.29e+11, 1.4e-05}},       {"SampleExtract", {2e+12, 3e-06}},
          {"SampleGaussian", {3e+12, 3e-06}},     {"ModDownFinish", {3.43e+12, 2.4e-06}},
          {"Tensor", {3.68e+12, 2e-06}},          {"Transform", {3.03e+12, 2e-06, 3.03e+12}},
      }};
  return kTable;
}

// An H100 has the processors of an H200, and slower memory.
// - Records that move bytes take 28.0 / 21.7 of the time on an H200. These are the microseconds of
//   ckks.add at 47 limbs (bench/records/2026-11-26-h100-before-after.json and
//   2026-11-23-h200-operations.json).
// - Transforms take 133 / 111 of it: the microseconds of 16 polynomials of 20 limbs
//   (2026-11-26-h100-transforms.json, 2026-11-23-h200-transforms.json).
// - Records that compute take the same time.
const RateTable& h100_rates() {
  static const RateTable kTable = [] {
    constexpr double kMemory = 21.65 / 28.02, kTransform = 111.5 / 133.3;
    RateTable table = cuda_rates();
    table.device = "NVIDIA H100 80GB HBM3";
    for (const char* name : {"Automorphism", "Copy", "Dot", "KeyInner", "Linear", "LweLinear",
                             "ModDownFinish", "ModRaise", "Tensor", "Transform"}) {
      const double slower = std::string(name) == "Transform" ? kTransform : kMemory;
      RecordRate& rate = table.records.at(name);
      rate.bytes_per_second *= slower;
      rate.work_per_second *= slower;
    }
    return table;
  }();
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
               quotient(effort.path, rate.path_per_second) +
               quotient(effort.fourier_work, rate.fourier_work_per_second) +
               quotient(effort.fourier_path, rate.fourier_path_per_second);
  }
  const int t = std::max(1, threads);
  return seconds * (1 + table.thread_overhead * (t - 1)) / t;
}

}  // namespace latticino
