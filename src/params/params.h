// Parameters: a literal a person writes, checked into an immutable Params that everything else
// reads. Prime lists, level shapes, canonical scales and the security check live here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poly/basis.h"

namespace latticino {

class Ring;

// A ciphertext level's primes: the first `mains` main primes and the first `terminals` terminal
// primes (paper: Cheddar, Sec. 3: rational rescaling; terminals == 0 everywhere for SR and DR).
struct LevelShape {
  std::uint16_t mains = 0;
  std::uint16_t terminals = 0;
  bool operator==(const LevelShape&) const = default;
};

struct BootstrapLiteral {
  int cts_levels = 4;  // CoeffToSlot factors, top levels
  int evalmod_levels = 8;
  int stc_levels = 3;         // SlotToCoeff factors, below EvalMod
  int log_message_ratio = 5;  // r: messages |m| <= 1 are raised to q0 / 2^r
  int range_k = 16;           // K: bound on |I| after ModRaise
  int evalmod_degree = 30;
  int double_angles = 3;
  int sparse_weight = 32;  // Hamming weight of the encapsulation secret
  bool arcsine = false;    // arcsine correction after the sine (costs levels)
};

// What a person (or a file) states. Everything derived is in Params.
struct ParamsLiteral {
  std::string name;  // versioned: "n16-d40-boot-v1"
  int log_n = 16;
  std::vector<std::uint32_t> terminals, mains, aux;
  std::vector<LevelShape> levels;       // [0] is the base level, back() the top
  int alpha = 12;                       // primes in a key-switching digit == aux.size()
  double log_scale = 40;                // Delta of level 0: S_0 = 2^log_scale
  std::vector<double> level_log_scale;  // BitPacker: a target per level; empty otherwise
  // Level of fresh ciphertexts; -1: with bootstrapping the level where SlotToCoeff starts (the
  // highest with a canonical scale), else the top.
  int default_level = -1;
  int hamming_weight = 0;  // of the secret; 0: uniform ternary
  std::optional<BootstrapLiteral> bootstrap;
  enum class Security { Bits128, Legacy, Insecure } security = Security::Bits128;
};

// Predicted -log2 of the mean |z - z'| of one full-slot bootstrapping, by kind of message.
struct BootstrapPrecision {
  double random = 0;       // slots uniform in the unit box: noise only
  double spike = 0;        // one slot 1: small coefficients, as above
  double constant = 0;     // all slots 1: one coefficient of size 1, limited by the sine
  double alternating = 0;  // slots 1, -1, 1, ...: two coefficients of size 2^-1/2
};

class Params {
 public:
  // Throws ParameterError naming what fails: primes, shapes, digit products, security table,
  // accumulator bounds of base conversion, bootstrapping layout.
  static std::shared_ptr<const Params> check(ParamsLiteral literal);

  const ParamsLiteral& literal() const { return literal_; }
  const std::string& name() const { return literal_.name; }
  int log_n() const { return literal_.log_n; }
  int n() const { return 1 << literal_.log_n; }
  int max_slots() const { return n() / 2; }
  int alpha() const { return literal_.alpha; }
  int dnum() const { return dnum_; }
  int top_level() const { return static_cast<int>(literal_.levels.size()) - 1; }
  int default_level() const { return default_level_; }
  const std::optional<BootstrapLiteral>& bootstrap() const { return literal_.bootstrap; }
  int level_after_bootstrap() const;  // throws ParameterError without bootstrapping

  // Prime order of the ring: terminals reversed, mains, aux (inverted-terminal layout).
  const std::vector<std::uint32_t>& ring_primes() const { return ring_primes_; }
  int q_count() const {
    return static_cast<int>(literal_.terminals.size() + literal_.mains.size());
  }
  int limbs(int level) const;
  Basis basis(int level) const;     // one run
  Basis aux_basis() const;          // P
  Basis extended(int level) const;  // basis(level) + P
  Basis digit(int j) const;         // primes [j alpha, (j+1) alpha) of Q_max
  std::vector<int> active_digits(int level) const;
  Basis encapsulation_basis() const;  // base primes + as many leading aux primes

  // Primes that leave and enter between level and level-1 (rational rescale).
  Basis leaving(int level) const;
  Basis entering(int level) const;

  // Canonical scale S_level: S_0 = 2^log_scale, S_l = sqrt(S_(l-1) Q_l / Q_(l-1)) up to the default
  // level; above it (bootstrapping levels) the exact rescale factor is what counts.
  // In plain double arithmetic from S_0 on: the same bits everywhere.
  double scale(int level) const;
  double target_log_scale(int level) const;  // what scale(level) was meant to be
  double rescale_factor(int level) const;    // Q_level / Q_(level-1), exact product rounded once
  double log_q(int level) const;
  double log_q_max() const;
  double log_p() const;
  double log_pq() const { return log_q_max() + log_p(); }
  double scale_drift() const;  // max |log2 S_l - target| over user levels

  // Largest coefficient magnitude of a message (before the scale) that survives at `level`;
  // for inputs of bootstrapping the bound is 2^-r q0 (see log_message_ratio).
  double message_bound(int level) const;
  double bootstrap_log_failure() const;  // log2 Pr[some |I| > K] at full slots
  // u: a level-0 ciphertext is multiplied by 2^u before ModRaise, so that its scale is about
  // q0 / 2^log_message_ratio. Throws ParameterError without bootstrapping.
  int bootstrap_log_scale_up() const;

  // Noise model with one constant fitted to measurements (docs/parameters.md), and the exact error
  // of the sine in place of the reduction modulo q0. Throws ParameterError without bootstrapping.
  BootstrapPrecision bootstrap_precision() const;
  std::size_t switching_key_bytes() const;  // one key in memory: dnum pairs over Q_max P

  const std::string& hash() const { return hash_; }  // SHA-256 of the canonical text, hex
  std::string canonical_text() const;                // what is hashed and stored in files
  std::string explain() const;                       // table for people

 private:
  Params() = default;
  void derive();
  void check_level(int level, int least, const char* operation) const;
  ParamsLiteral literal_;
  int dnum_ = 0, default_level_ = 0;
  std::vector<std::uint32_t> ring_primes_;
  std::vector<double> scale_;
  std::string hash_;
};

// Reads canonical text back. Throws FileError for any text that canonical_text() would not write.
ParamsLiteral parse_params(const std::string& text);

// Named sets, "n16-d40-boot-v1" and so on. Throws ParameterError listing near names.
std::shared_ptr<const Params> preset(const std::string& name);
std::vector<std::string> preset_names();

}  // namespace latticino
