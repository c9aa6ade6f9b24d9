// Which arithmetic a context of TFHE takes on a device.
#pragma once

#include <string>

#include "session/device.h"
#include "tfhe/arithmetic/rule.h"

namespace latticino::session {

// `wanted`: "exact" or "fft64" for one, "auto" or empty for the faster one of the device, by the
// times of its table of kernels (`tuning`, or the one that is shipped) or by predicted times. Exact
// on GPUs without fast FP64. A GPU that is not there stands for an H200, in plans. ParameterError
// for other words, FileError for tables that cannot be read.
tfhe::ArithmeticRule arithmetic_rule(const TfheParams& params, const std::string& wanted,
                                     const DeviceChoice& device, int threads, bool simd,
                                     const std::string& tuning);

}  // namespace latticino::session
