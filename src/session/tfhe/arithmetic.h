// Chooses the arithmetic of a TFHE context for a device.
#pragma once

#include <string>

#include "session/device.h"
#include "tfhe/arithmetic/rule.h"

namespace latticino::session {

// `wanted`: "exact" or "fft64"; "auto" or empty: the faster one on the device, by the times in its
// table of kernels (`tuning`, or the shipped one) or by predicted times. It is exact on GPUs
// without fast FP64. A plan for a GPU on a machine without one uses the times of an H200.
// ParameterError for other words, FileError for tables that cannot be read.
tfhe::ArithmeticRule arithmetic_rule(const TfheParams& params, const std::string& wanted,
                                     const DeviceChoice& device, int threads, bool simd,
                                     const std::string& tuning);

}  // namespace latticino::session
