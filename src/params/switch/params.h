// Parameters of switching between CKKS and TFHE: a literal beside a CKKS set, checked into an
// immutable SwitchParams (docs/switching.md). Everything lives modulo primes of the CKKS ring, so
// that both schemes share residues: the two primes of the table ring Z[Y]/(Y^N'+1) and the one that
// its keys divide by are the three largest auxiliary primes of CKKS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "params/params.h"
#include "params/tfhe/params.h"

namespace latticino {

struct SwitchLiteral {
  std::string name;       // name with a version, such as "switch-n16-d40-v1"
  int log_n = 12;         // log2 of the table ring's degree N'
  int lwe_dimension = 0;  // dimension n of the key under which tables are looked up
  Gadget bootstrap, key_switch;
  // Deviation of the key switch N' -> n, in units of 1; 0: the least for 128 bits.
  double lwe_sigma = 0;
  // log2 of the probability that noise carries a value within its bound over the edge of the table.
  double log_failure = -80;
  ParamsLiteral::Security security = ParamsLiteral::Security::Bits128;
  bool fourier = false;  // whether tables are rotated in FP64 (math/fourier.h)
  bool operator==(const SwitchLiteral&) const = default;
};

// The name of a preset may only be used for its parameters (ParameterError).
void check_switch_preset_name(const Params& ckks, const SwitchLiteral& literal);

class SwitchParams {
 public:
  // Throws ParameterError naming what fails: a CKKS set without bootstrapping or with too few
  // auxiliary primes, rings that do not go together, rotations out of reach of FP64, noise that
  // leaves no range, security.
  static std::shared_ptr<const SwitchParams> check(std::shared_ptr<const Params> ckks,
                                                   SwitchLiteral literal);

  const SwitchLiteral& literal() const { return literal_; }
  const std::string& name() const { return literal_.name; }
  const Params& ckks() const { return *ckks_; }
  const std::shared_ptr<const Params>& shared_ckks() const { return ckks_; }
  // GLWE of dimension 1 in the table ring over both primes; its secret s' is the ring's.
  const std::shared_ptr<const TfheParams>& tfhe() const { return tfhe_; }
  // RLWE in the table ring: the same primes, one auxiliary prime, keys of packing.
  const std::shared_ptr<const Params>& packing() const { return packing_; }

  int n() const { return 1 << literal_.log_n; }  // degree N' of the table ring
  int gap() const { return ckks_->n() / n(); }   // X^gap of the CKKS ring is Y
  // Indices in the CKKS ring: the primes of the table ring, the first one of them, and the prime
  // that its keys divide by.
  const Basis& ring_basis() const { return ring_basis_; }
  Basis lwe_basis() const;
  const Basis& key_aux() const { return key_aux_; }

  // Variances in units of the torus (1 is the modulus). Of an extracted sample: modulus change and
  // ring switch. Of the phase that a table is looked up with: key switch and modulus switch as
  // well.
  double sample_variance() const;
  double lookup_variance() const;
  // The part of half a torus that bounded values fill. The rest is a margin, so that noise does not
  // carry them over the edge.
  double fill() const { return fill_; }
  // A looked-up value of the largest size, in units of q0 at ModRaise: 2^-log_message_ratio.
  double amplitude() const;
  // Variance of a packed value, in units of the largest size: blind rotation (its roundings in FP64
  // as well) and packing.
  double packed_variance() const;
  // The same without packing: the variance of a rotated table's constant coefficient, modulo the
  // first prime.
  double value_variance() const;
  // K. The phases of `values` ciphertexts under s' - 1/2, before they are reduced modulo the
  // modulus, stay below (K - 1/4) times the modulus. The probability that any of them does not is
  // 2^-80.
  int overflow_range(int values) const;
  // log2 of the modulus of the widest key under s', which 128 bits of security limit.
  double log_key_modulus() const;

  const std::string& hash() const { return hash_; }  // SHA-256 of the canonical text, hex
  std::string canonical_text() const;
  std::string explain() const;

 private:
  SwitchParams() = default;
  void pick_primes();
  std::shared_ptr<const Params> ckks_, packing_;
  std::shared_ptr<const TfheParams> tfhe_;
  SwitchLiteral literal_;
  Basis ring_basis_, key_aux_;
  double fill_ = 0;
  std::string hash_;
};

// Named sets, with the CKKS sets they belong to. Throws ParameterError naming all.
std::shared_ptr<const SwitchParams> switch_preset(const std::string& name);
std::vector<std::string> switch_preset_names();

}  // namespace latticino
