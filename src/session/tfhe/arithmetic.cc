#include "session/tfhe/arithmetic.h"

#include "backend/gpu_arch.h"

namespace latticino::session {

tfhe::ArithmeticRule arithmetic_rule(const TfheParams& params, const std::string& wanted,
                                     const DeviceChoice& device, int threads, bool simd,
                                     const std::string& tuning) {
  if (!wanted.empty() && wanted != "auto") return tfhe::arithmetic_of(wanted);
  const RateTable& rates = rates_of(rate_device(device, threads, simd).kernels);
  if (device.kind != "cuda") return tfhe::faster_arithmetic(params, {}, rates);
  // A plan for a GPU on a machine without one uses the times of an H200.
  constexpr int kPlanned = 90;
  const bool none = cuda_device_count() == 0;
  if (!none && !cuda_has_fast_doubles(device.index)) return BlindRotateArithmetic::Exact;
  const auto measured = !tuning.empty()
                            ? load_rotation_times(tuning)
                            : shipped_rotation_times(none ? kPlanned : gpu_arch(device.index));
  return tfhe::faster_arithmetic(params, measured, rates);
}

}  // namespace latticino::session
