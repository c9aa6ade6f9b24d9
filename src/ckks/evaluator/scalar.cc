#include "ckks/evaluator/scalar.h"

#include <cmath>
#include <string>

#include "ckks/evaluator/scalar_inputs.h"
#include "math/errors.h"
#include "math/modulus.h"
#include "math/text.h"
#include "poly/ring.h"

namespace latticino::ckks {
namespace {

// An integer that a double holds, modulo q. Mantissa and exponent are reduced separately, so any
// size is exact.
std::uint32_t integer_mod(double x, const Modulus& q) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);  // |fraction| in [1/2, 1)
  std::int64_t mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  if (exponent < 0) {
    mantissa /= std::int64_t{1} << -exponent;  // exact: x is an integer
    exponent = 0;
  }
  return mul_mod(reduce_s64(mantissa, q), pow_mod(2, exponent, q), q);
}

double log_modulus(const Ring& ring, const Basis& basis) {
  double sum = 0;
  for (int i = 0; i < basis.size(); ++i) sum += std::log2(ring.prime(basis.prime(i)));
  return sum;
}

std::string about(double log) { return formatted("2^%.1f", log); }

double rounded(const char* operation, double x, double scale, double log_bound) {
  if (!std::isfinite(x)) {
    throw ValueError(operation, std::to_string(x), "a finite number", "check the scalar");
  }
  const double y = std::nearbyint(x * scale);
  if (std::log2(std::abs(y)) >= log_bound) {
    throw ScaleError(
        operation,
        "a constant of " + about(std::log2(std::abs(x))) + " at scale " + about(std::log2(scale)),
        "a product below " + about(log_bound) + ", half the modulus",
        "choose a smaller constant, or work at a higher level");
  }
  return y;
}

// The residue of X^(N/2) at psi.
std::uint32_t unit_at(const Ring& ring, int prime, const Modulus& q) {
  return pow_mod(ring.psi(prime), ring.n() / 2, q);
}

ScalarResidues gaussian_residues(const Ring& ring, const Basis& basis, double re, double im) {
  ScalarResidues out;
  for (int i = 0; i < basis.size(); ++i) {
    const int p = basis.prime(i);
    const Modulus q = make_modulus(ring.prime(p));
    const std::uint32_t a = integer_mod(re, q);
    if (im == 0) {
      out.lower.push_back(a);
      continue;
    }
    const std::uint32_t b = mul_mod(integer_mod(im, q), unit_at(ring, p, q), q);
    out.lower.push_back(add_mod(a, b, q.q));
    out.upper.push_back(sub_mod(a, b, q.q));
  }
  return out;
}

}  // namespace

ScalarResidues scalar_residues(const char* operation, const Ring& ring, const Basis& basis,
                               Complex c, double scale) {
  const double log_bound = log_modulus(ring, basis) - 1;
  return gaussian_residues(ring, basis, rounded(operation, c.real(), scale, log_bound),
                           rounded(operation, c.imag(), scale, log_bound));
}

ScalarResidues Scalar::residues(const char* operation, const Ring& ring, const Basis& basis,
                                double scale) const {
  return inputs_ == nullptr ? scalar_residues(operation, ring, basis, value_, scale)
                            : inputs_->use(operation, index_, basis, scale);
}

ScalarEncoding::ScalarEncoding(const char* operation, const Ring& ring, const Basis& basis,
                               double scale)
    : operation_(operation), scale_(scale), log_bound_(log_modulus(ring, basis) - 1) {
  for (int i = 0; i < basis.size(); ++i) {
    const int p = basis.prime(i);
    const Modulus q = make_modulus(ring.prime(p));
    primes_.push_back({q, unit_at(ring, p, q)});
  }
}

void ScalarEncoding::write(Complex c, std::uint32_t* words) const {
  const double re = rounded(operation_, c.real(), scale_, log_bound_);
  const double im = rounded(operation_, c.imag(), scale_, log_bound_);
  for (std::size_t i = 0; i < limbs(); ++i) {
    const Modulus& q = primes_[i].modulus;
    const std::uint32_t a = integer_mod(re, q), b = mul_mod(integer_mod(im, q), primes_[i].unit, q);
    words[i] = add_mod(a, b, q.q);
    words[limbs() + i] = sub_mod(a, b, q.q);
  }
}

ScalarResidues unit_residues(const Ring& ring, const Basis& basis, int power) {
  constexpr double kRe[4] = {1, 0, -1, 0}, kIm[4] = {0, 1, 0, -1};
  return gaussian_residues(ring, basis, kRe[power], kIm[power]);
}

ScalarResidues integer_residues(const Ring& ring, const Basis& basis, std::int64_t c) {
  ScalarResidues out;
  for (int i = 0; i < basis.size(); ++i) {
    out.lower.push_back(reduce_s64(c, make_modulus(ring.prime(basis.prime(i)))));
  }
  return out;
}

}  // namespace latticino::ckks
