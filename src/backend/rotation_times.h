// Measured times of blind rotations. Contexts of TFHE choose between exact arithmetic and FP64 by
// them (tfhe/arithmetic/rule.h). They are lines of the tables of kernels (tuning.h); the kernels
// themselves do not read them. For example:
//
//   rotation 10  2 1 49 132 = 3120 5210
//
// The fields of this line are, from left to right:
//   10      log2 of the ring degree N.
//   2 1 49  the shape: components, primes and rows (as in blind_rotate).
//   132     the number of ciphertexts in the batch.
//   3120    the time of the batch in exact arithmetic, in microseconds.
//   5210    the time of the batch in FP64, in microseconds.
//
// Both times include the key switch. A time that was not measured is 0.
#pragma once

#include <string>
#include <vector>

namespace latticino {

struct RotationTime {
  int log_n = 0, components = 0, primes = 0, rows = 0;  // rows: 16 levels + keys per step
  int count = 0;
  int exact_us = 0, fourier_us = 0;

  bool same_shape(const RotationTime& t) const {
    return log_n == t.log_n && components == t.components && primes == t.primes && rows == t.rows;
  }
  std::string text() const;  // the line of a table
};

// FileError as Tuning throws it; also for a shape with two times for one number of ciphertexts.
std::vector<RotationTime> parse_rotation_times(const std::string& text, const std::string& origin);
std::vector<RotationTime> load_rotation_times(const std::string& path);
// The times in the shipped table of an architecture; empty if there is none.
std::vector<RotationTime> shipped_rotation_times(int arch);

}  // namespace latticino
