// Measured times of blind rotations. Contexts of TFHE choose between exact arithmetic and FP64 by
// them (tfhe/arithmetic/rule.h). They are lines of the tables of kernels (tuning.h); the kernels
// themselves do not read them. For example:
//
//   rotation 10  2 1 49 132 = 3120 5210
//
//   10     log2 N
//   2 1 49 components, primes and rows: the shape, as blind_rotate has it
//   132    ciphertexts that are rotated together
//   3120   microseconds of all of them in exact arithmetic, their key switch included
//   5210   the same in FP64
//
// A time of 0 was not measured.
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
