// Complex constants as residues: c is the polynomial a + b X^(N/2), which acts as a + i b on every
// slot.
#pragma once

#include <cstdint>
#include <vector>

#include "ckks/ciphertext.h"
#include "math/modulus.h"

namespace latticino::ckks {

// One residue for each prime of `basis`, as in ops::Linear. `upper` is empty if it equals `lower`.
// Alternatively, the address of both in backend memory.
struct ScalarResidues {
  std::vector<std::uint32_t> lower, upper;
  const std::uint32_t* stored = nullptr;
};

class ScalarInputs;

// A number that ciphertexts are multiplied by, or that is added to them. Either it is known now, or
// a recorded program gets it anew at each run (ckks/evaluator/scalar_inputs.h).
class Scalar {
 public:
  Scalar(double c) : value_(c) {}   // NOLINT: a number
  Scalar(Complex c) : value_(c) {}  // NOLINT
  Scalar(double re, double im) : value_(re, im) {}
  // The number with that index in the list of numbers of a program.
  Scalar(ScalarInputs& inputs, std::size_t index) : inputs_(&inputs), index_(index) {}

  // The residues that scalar_residues() describes.
  ScalarResidues residues(const char* operation, const Ring& ring, const Basis& basis,
                          double scale) const;

 private:
  Complex value_ = 0;
  ScalarInputs* inputs_ = nullptr;
  std::size_t index_ = 0;
};

// round(Re c * scale) + round(Im c * scale) X^(N/2). Rounding is to even; the products are exact to
// one IEEE rounding. Throws ValueError for NaN and infinity, ScaleError for integers that reach
// half the product of the basis: as with encoded values, nothing wraps around.
ScalarResidues scalar_residues(const char* operation, const Ring& ring, const Basis& basis,
                               Complex c, double scale);

// The same for many numbers of one basis and scale.
class ScalarEncoding {
 public:
  ScalarEncoding(const char* operation, const Ring& ring, const Basis& basis, double scale);
  std::size_t limbs() const { return primes_.size(); }
  // limbs() residues for the lower half, then limbs() for the upper one.
  void write(Complex c, std::uint32_t* words) const;

 private:
  struct Prime {
    Modulus modulus;
    std::uint32_t unit;  // X^(N/2) at psi
  };
  const char* operation_;
  double scale_, log_bound_;
  std::vector<Prime> primes_;
};

// i^power (power 0..3) without rounding or scale.
ScalarResidues unit_residues(const Ring& ring, const Basis& basis, int power);

ScalarResidues integer_residues(const Ring& ring, const Basis& basis, std::int64_t c);

}  // namespace latticino::ckks
