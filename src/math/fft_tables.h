// Twiddle factors of the special FFT (over the powers of five), the same bits on every machine.
#pragma once

#include <vector>

namespace latticino {

struct Root {
  double re = 1, im = 0;
};

// exp(2 pi i k / 2^log_order) for all k, each part rounded to the nearest double from about 100
// correct bits; octant symmetry holds exactly. log_order >= 3.
std::vector<Root> unit_roots(int log_order);

// Stage `len` (2, 4, .. 2^log_slots) of the special FFT multiplies by exp(2 pi i 5^j / (4 len)),
// j < len/2; the factors do not depend on the number of slots, so one table serves all counts.
class FftTables {
 public:
  explicit FftTables(int log_slots);
  int log_slots() const { return log_slots_; }
  const double* re(int len) const { return re_.data() + len / 2; }
  const double* im(int len) const { return im_.data() + len / 2; }

 private:
  int log_slots_;
  std::vector<double> re_, im_;
};

}  // namespace latticino
