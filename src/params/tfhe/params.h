// Parameters of TFHE: a literal checked into an immutable TfheParams, as params.h does for CKKS.
// One ring of one or two NTT primes below 2^31; LWE ciphertexts live modulo the first prime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "math/fourier.h"
#include "params/params.h"
#include "params/tfhe/noise.h"

namespace latticino {

struct TfheLiteral {
  std::string name;        // name with a version, such as "tfhe-gates-v2"
  int lwe_dimension = 0;   // dimension n of the key that a blind rotation uses
  int glwe_dimension = 0;  // k, the number of mask polynomials
  int log_n = 10;          // log2 of the ring's degree N
  std::vector<std::uint32_t> primes;
  double lwe_sigma = 0;  // deviation of the key-switching key, in units of 1 modulo primes[0]
  // Deviation of the bootstrapping key, in units of 1 modulo the product of the primes.
  double glwe_sigma = 0;
  Gadget bootstrap, key_switch;
  bool ternary = false;  // the LWE key is ternary, not binary; a GLWE key is binary
  int group = 1;         // LWE coefficients per step of the blind rotation (multi-bit), 1 to 4
  // Blocks of message_bits + carry_bits below one padding bit; 0 and 0: booleans at +-q/8.
  int message_bits = 0, carry_bits = 0;
  // 2-norm of the linear combinations between two bootstrappings, of integer blocks.
  double max_norm = 1;
  // Stated bound: log2 of the probability that one bootstrapping decides or decodes wrongly.
  double log_failure = -128;
  ParamsLiteral::Security security = ParamsLiteral::Security::Bits128;
};

class TfheParams {
 public:
  // Throws ParameterError naming what fails: primes, dimensions, gadgets, noise too small for the
  // security curve, a failure probability over the one stated.
  static std::shared_ptr<const TfheParams> check(TfheLiteral literal);

  const TfheLiteral& literal() const { return literal_; }
  const std::string& name() const { return literal_.name; }
  int log_n() const { return literal_.log_n; }
  int n() const { return 1 << literal_.log_n; }  // degree of the ring, as in Params
  int lwe_dimension() const { return literal_.lwe_dimension; }
  int glwe_dimension() const { return literal_.glwe_dimension; }
  // Dimension of ciphertexts between operations.
  int big_dimension() const { return glwe_dimension() * n(); }
  std::uint32_t lwe_modulus() const { return literal_.primes[0]; }
  bool booleans() const { return literal_.message_bits == 0; }
  int plain_bits() const { return literal_.message_bits + literal_.carry_bits; }
  int steps() const { return lwe_dimension() / literal_.group; }
  int keys_per_step() const { return literal_.ternary ? 2 : (1 << literal_.group) - 1; }

  // Deviation of a fresh ciphertext at rest, units of 1 modulo lwe_modulus(): glwe_sigma brought
  // down to that modulus, but never below 3.19.
  double fresh_sigma() const;

  const TfheNoiseModel& noise() const { return noise_; }
  // Variance in front of the decision, of a linear combination with 2-norm `norm` of bootstrapped
  // ciphertexts: norm^2 (bootstrap + drop) + key switch + modulus switch.
  // `fourier`: with blind rotations in FP64.
  double decision_variance(double norm, int log_many = 0, bool fourier = false) const;
  // The two parts of it: that of one bootstrapped ciphertext, and that of key switch and modulus
  // switch.
  double result_variance(bool fourier = false) const;
  double switch_variance(int log_many = 0) const;
  // log2 of the failure probability: the worst gate of booleans (and: distance q/8, norm sqrt 2;
  // xor: q/4, norm sqrt 8), or a table on a block of norm max_norm (half a box).
  double log_failure(bool fourier = false) const;
  // The same probability from variances of these parts, measured ones for instance.
  double log_failure_of(double result_variance, double switch_variance) const;
  // Empty if blind rotations can run in FP64. Otherwise the reason why they cannot: their shape
  // (math/fourier.h), or a failure probability above the one stated.
  fourier::Refusal fourier_refusal() const;
  // Estimated classical bits of security of the weaker of both keys (security.h), for information.
  double security_bits() const;

  std::size_t bootstrap_key_bytes() const;
  std::size_t key_switch_key_bytes() const;

  const std::string& hash() const { return hash_; }  // SHA-256 of the canonical text, hex
  std::string canonical_text() const;
  std::string explain() const;

 private:
  TfheParams() = default;
  TfheLiteral literal_;
  TfheNoiseModel noise_;
  std::string hash_;
};

// Inverse of canonical_text(). Throws FileError for other text.
TfheLiteral parse_tfhe_params(const std::string& text);

// Named sets. Throws ParameterError naming all.
std::shared_ptr<const TfheParams> tfhe_preset(const std::string& name);
std::vector<std::string> tfhe_preset_names();

}  // namespace latticino
