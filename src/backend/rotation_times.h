// Measured times of blind rotations in both arithmetics, by which contexts of TFHE choose
// (tfhe/arithmetic/rule.h). They stand in tables of kernels (tuning.h), whose kernels do not read
// them:
//   rotation 10  2 1 49 132 = 3120 5210
// is log2 N, the shape as of blind_rotate, the number of ciphertexts, and the microseconds of all
// of them with their key switch, exact and in FP64 (0: not measured).
#pragma once

#include <string>
#include <vector>

namespace latticino {

struct RotationTime {
  int log_n = 0, components = 0, primes = 0, rows = 0;  // rows: 16 levels + keys of a step
  int count = 0;
  int exact_us = 0, fourier_us = 0;

  bool same_shape(const RotationTime& t) const {
    return log_n == t.log_n && components == t.components && primes == t.primes && rows == t.rows;
  }
  std::string text() const;  // a line of a table
};

// FileError as of Tuning; also for a shape with two times for one number.
std::vector<RotationTime> parse_rotation_times(const std::string& text, const std::string& origin);
std::vector<RotationTime> load_rotation_times(const std::string& path);
// Of the table that is shipped for an architecture; empty if there is none.
std::vector<RotationTime> shipped_rotation_times(int arch);

}  // namespace latticino
