// Errors of single divisions, for bench_bitpacker.
#pragma once

#include <memory>

#include "bitpacker/bitpacker_sets.h"
#include "support/common.h"

namespace latticino::bench {

// -log2 of the errors of slots (complex modulus): quartiles, least and largest, and the root of
// their mean square, with its prediction (Params::division_variance).
struct ErrorBits {
  double least = 0, low = 0, median = 0, high = 0, most = 0;
  double rms = 0, predicted_rms = 0;
  int samples = 0;
};

struct DivisionErrors {
  ErrorBits rescale, adjust;
};

// For at least `samples` slots. Rescale: what a division changes in a ciphertext of scale S^2.
// Adjust: what a ciphertext of scale S loses on its way to the level below, the constant's rounding
// included. Messages are uniform in a box of size 1, or smaller where errors come near the last
// bits of a double: they do not depend on the message.
DivisionErrors division_errors(const std::shared_ptr<const Params>& params,
                               std::unique_ptr<Backend> backend, int samples);

}  // namespace latticino::bench
