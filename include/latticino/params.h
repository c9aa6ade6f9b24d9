/// \file
/// Parameter sets of CKKS: presets, and own ones that are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "latticino/export.h"

namespace latticino {

class Params;  // of the library

/// The primes of one level. A parameter set has a list of main primes, and one or two lists of
/// terminal primes. In most sets a level has the first primes of each list. In a set with free
/// terminals a level may have other terminal primes, and `chosen` says which.
struct LevelPrimes {
  /// How many main primes the level has. They are the first ones of the list.
  std::uint16_t mains = 0;
  std::uint16_t terminals = 0;  ///< How many terminal primes it has from the first list.
  std::uint16_t outer = 0;      ///< How many terminal primes it has from the second list.
  /// Which terminal primes of the first list these are: bit i stands for prime i. If no bit is set,
  /// they are the first ones.
  std::uint16_t chosen = 0;
  /// The same for the second list.
  std::uint16_t chosen_outer = 0;
};

/// The levels of bootstrapping in a set (docs/bootstrapping.md).
struct BootstrapLevels {
  int cts_levels = 4;         ///< number of CoeffToSlot factors, at the top levels
  int evalmod_levels = 8;     ///< levels of EvalMod, below those of CoeffToSlot
  int stc_levels = 3;         ///< number of SlotToCoeff factors, below EvalMod
  int log_message_ratio = 5;  ///< r: messages up to 1 in size are raised to q0 / 2^r
  int range_k = 16;           ///< bound on the multiples of q0 after raising
  int evalmod_degree = 30;    ///< degree of the cosine's polynomial
  int double_angles = 3;      ///< doublings of the angle that follow the cosine's polynomial
  int sparse_weight = 32;     ///< Hamming weight of the encapsulation secret
  bool arcsine = false;       ///< arcsine correction after the sine, which takes levels
};

/// The fields that define a set. docs/parameters.md explains each of them.
struct ParameterLiteral {
  std::string name = {};  ///< a name of your own, which is not that of a preset
  int log_n = 16;         ///< log2 of the ring degree N
  std::vector<std::uint32_t> terminals =
      {};                                 ///< NTT primes, as all here: below 2^31 and 1 modulo 2N
  std::vector<std::uint32_t> mains = {};  ///< the main primes
  std::vector<std::uint32_t> aux = {};    ///< the auxiliary primes of key switching
  std::vector<std::uint32_t> outer = {};  ///< terminals of the second list; may be empty
  std::vector<LevelPrimes> levels = {};   ///< levels from the base to the top
  int alpha = 12;                         ///< primes per key-switching digit: the size of `aux`
  double log_scale = 40;                  ///< log2 of the scale at level 0
  std::vector<double> level_log_scale = {};  ///< a target for each level, or empty
  int default_level = -1;  ///< level of fresh ciphertexts; -1: below the levels of bootstrapping
  int hamming_weight = 0;  ///< Hamming weight of the secret; 0: uniform ternary
  std::optional<BootstrapLevels> bootstrap = std::nullopt;  ///< empty: a set without bootstrapping
  /// Sets that the 128-bit table does not admit must be marked by this. Contexts with them give a
  /// warning.
  bool insecure = false;
};

/// What a parameter set of your own must offer. The library finds the primes (docs/parameters.md).
/// Errors name the fields as Python does: `n` as N, `log_scale` as scale and so on.
struct ParameterRequest {
  std::int64_t n = 65536;  ///< ring degree, a power of two from 2^10 to 2^17
  double log_scale = 40;   ///< log2 of the scale of every level
  /// A scale for each level, from level 0 to that of fresh ciphertexts; none: `log_scale`.
  std::optional<std::vector<double>> level_log_scale = std::nullopt;
  /// How many multiplications can follow one another. With bootstrapping: how many remain after it.
  /// 0: as many as fit.
  std::int64_t levels = 0;
  std::int64_t word = 0;            ///< every prime is below 2^word; 24 to 31. 0: 31
  bool bootstrapping = false;       ///< whether the set can bootstrap
  std::int64_t dnum = 0;            ///< digits of a key switch; 0: the cheapest count
  std::int64_t hamming_weight = 0;  ///< Hamming weight of the secret; 0: uniform ternary
  std::int64_t security = 128;      ///< bits: 128, 192, 256; 0: none, for tests
  bool quantum = false;             ///< against quantum computers
  std::string name = {};            ///< name of the set; empty: made from the request
};

/// Checked, immutable parameters. Copies are cheap and share their data.
class LATTICINO_API ParameterSet {
 public:
  /// Checks a literal. ParameterError names what fails: primes, levels, scales, the security table,
  /// bounds of base conversion, the layout of bootstrapping.
  static ParameterSet check(const ParameterLiteral& literal);
  /// Finds the primes of a request. ParameterError says what limits it, and names changes to the
  /// request that were tried and are accepted.
  static ParameterSet make(const ParameterRequest& request);
  /// A named, versioned set. ParameterError lists near names.
  static ParameterSet preset(const std::string& name);
  /// The names of all sets.
  static std::vector<std::string> presets();

  /// The literal that would be checked into this set.
  ParameterLiteral literal() const;
  const std::string& name() const;  ///< name of the set
  const std::string& hash() const;  ///< SHA-256 of all fields, in hex; files contain it
  int slots() const;                ///< values that one ciphertext holds: N/2
  int top_level() const;            ///< the highest level, with those of bootstrapping
  int default_level() const;        ///< level of fresh ciphertexts
  /// Level after the usual bootstrapping; ParameterError for sets without bootstrapping.
  int level_after_bootstrap() const;
  bool has_bootstrap() const;  ///< whether arrays can be bootstrapped
  bool secure() const;         ///< whether the set must have 128 bits of security
  /// Bits of the strongest table that admits the keys: 256, 192, 128, or 0.
  int security_bits(bool quantum = false) const;
  int dnum() const;               ///< number of key-switching digits
  std::size_t key_bytes() const;  ///< bytes of one evaluation key of the top level
  /// The scale: the factor that values are multiplied by; LevelError for levels that do not exist.
  double scale(int level) const;
  double log_q(int level) const;  ///< log2 of the modulus; LevelError for levels that do not exist
  std::string explain() const;    ///< everything about the set, as a table for people

  /// \cond
  // Moving copies the handle, so that both stay usable.
  ParameterSet(const ParameterSet&) = default;
  ParameterSet& operator=(const ParameterSet&) = default;
  // For the library's own code.
  explicit ParameterSet(std::shared_ptr<const Params> params) : params_(std::move(params)) {}
  const std::shared_ptr<const Params>& native() const { return params_; }
  /// \endcond

 private:
  std::shared_ptr<const Params> params_;
};

}  // namespace latticino
