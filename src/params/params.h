// Parameters. A literal, which a person writes, is checked and becomes an immutable Params, which
// all other code reads. Prime lists, level shapes, canonical scales and the security check are
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poly/basis.h"

namespace latticino {

class BigUint;
class Ring;

// A ciphertext level's primes: the first `mains` main primes and the first `terminals` terminal
// primes (paper: Cheddar, Sec. 3: rational rescaling; terminals == 0 everywhere for SR and DR), and
// of BitPacker sets with two lists of terminals the first `outer` of the second one. If terminals
// are free, a level may have any `terminals` of the one list and any `outer` of the other.
struct LevelShape {
  std::uint16_t mains = 0;
  std::uint16_t terminals = 0;
  std::uint16_t outer = 0;
  // Bit i: the level has terminal i of that list. 0: the level has the first ones.
  std::uint16_t chosen = 0, chosen_outer = 0;

  bool free() const { return chosen != 0 || chosen_outer != 0; }
  bool has_terminal(int i) const { return chosen == 0 ? i < terminals : (chosen >> i & 1) != 0; }
  bool has_outer(int i) const {
    return chosen_outer == 0 ? i < outer : (chosen_outer >> i & 1) != 0;
  }
  // "5+2", "5+2+1", and with the numbers of chosen terminals "5+2:0.3+1:1".
  std::string str() const;
  bool operator==(const LevelShape&) const = default;
};

struct BootstrapLiteral {
  int cts_levels = 4;  // number of CoeffToSlot factors, at the top levels
  int evalmod_levels = 8;
  int stc_levels = 3;         // number of SlotToCoeff factors, below EvalMod
  int log_message_ratio = 5;  // r: messages |m| <= 1 are raised to q0 / 2^r
  int range_k = 16;           // K: bound on |I| after ModRaise
  int evalmod_degree = 30;
  int double_angles = 3;
  int sparse_weight = 32;  // Hamming weight of the sparse encapsulation secret
  bool arcsine = false;    // arcsine correction after the sine, which takes levels
};

// Levels whose keys have more auxiliary primes than P: the last `extra` mains, which no level up to
// `highest` has. Digits then have as many primes more, so that there are fewer of them
// (docs/parameters.md#key-switching-in-bands).
struct SwitchBand {
  std::uint16_t lowest = 0, highest = 0, extra = 0;
  std::string str() const;  // "17-20:4"
  bool operator==(const SwitchBand&) const = default;
};

// The parameters that a person or a file states. Params has everything that follows from them.
struct ParamsLiteral {
  std::string name;  // name with a version, such as "n16-d40-boot-v1"
  int log_n = 16;
  std::vector<std::uint32_t> terminals, mains, aux;
  std::vector<std::uint32_t> outer = {};  // the second list of terminals
  std::vector<LevelShape> levels;         // [0] is the base level, back() the top
  int alpha = 12;                         // primes per key-switching digit; equals aux.size()
  std::vector<SwitchBand> bands = {};     // increasing, disjoint
  double log_scale = 40;                  // Delta of level 0: S_0 = 2^log_scale
  std::vector<double> level_log_scale;    // BitPacker: one target per level; empty otherwise
  // Level of fresh ciphertexts; -1: with bootstrapping the level where SlotToCoeff starts (the
  // highest with a canonical scale), else the top.
  int default_level = -1;
  int hamming_weight = 0;  // Hamming weight of the secret; 0: uniform ternary
  std::optional<BootstrapLiteral> bootstrap;
  enum class Security { Bits128, Legacy, Insecure } security = Security::Bits128;
};

// -log2 of the mean |z - z'|, and of the largest over all slots of 20 runs.
struct PrecisionBits {
  double mean = 0, max = 0;
};

// Predicted precision of one full-slot bootstrapping, by kind of message.
struct BootstrapPrecision {
  PrecisionBits random;  // slots are uniform in the unit box
  PrecisionBits spike;   // one slot is 1: all coefficients are small, so only noise matters
  // All slots are 1: one coefficient has size 1, and the error of the sine limits the precision.
  PrecisionBits constant;
  PrecisionBits alternating;  // slots are 1, -1, 1, ...: two coefficients have size 2^-1/2
};

// Mean squares (complex modulus) of the noise of one slot after bootstrapping, by where it arises.
// The distance of EvalMod's function from the exact reduction is not counted here: it depends on
// the message (BootstrapPrecision).
struct BootstrapNoise {
  double raised = 0;         // both key switches of the encapsulation, and the trace
  double coeff_to_slot = 0;  // the last division of CoeffToSlot, and the conjugation
  double eval_mod = 0;       // divisions inside the polynomial and the double angles
  double slot_to_coeff = 0;  // the last division of SlotToCoeff
  double total() const { return raised + coeff_to_slot + eval_mod + slot_to_coeff; }
  // The part that is a random polynomial times the secret. In a slot it is a product of two normal
  // numbers; that of the secret is always the same. The rest is a sum of many numbers and so
  // normal.
  double times_secret() const { return raised + slot_to_coeff; }
};

// Standard deviation of every error polynomial (8 / sqrt(2 pi); the security table is for it).
inline constexpr double kErrorSigma = 3.19;

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
  int dnum() const { return static_cast<int>(key_layouts_[0].digits.size()); }
  int top_level() const { return static_cast<int>(literal_.levels.size()) - 1; }
  int default_level() const { return default_level_; }
  const std::optional<BootstrapLiteral>& bootstrap() const { return literal_.bootstrap; }
  int level_after_bootstrap() const;  // throws ParameterError for parameters without bootstrapping

  // Prime order of the ring: terminals reversed, mains, outer terminals reversed, aux. So a level
  // is one run, or two with outer terminals: these are the neighbours of the auxiliary primes. With
  // free terminals it is a few.
  const std::vector<std::uint32_t>& ring_primes() const { return ring_primes_; }
  int q_count() const {
    return static_cast<int>(literal_.terminals.size() + literal_.mains.size() +
                            literal_.outer.size());
  }
  int limbs(int level) const;
  Basis basis(int level) const;
  // Whether some level has other terminals than the first ones of a list.
  bool free_terminals() const;
  Basis aux_basis() const;  // the auxiliary primes, of product P

  // Keys for levels of one band are keys of their own, with these primes. Band 0 is all levels that
  // literal().bands leaves out, band i its i-th entry.
  struct KeyLayout {
    int lowest = 0;  // the lowest level of the band; 0 for band 0
    Basis aux;       // the primes of P, and in other bands the extra primes
    // Each digit has as many primes as `aux`, and the last digit has the rest. In band 0 they are
    // the primes of Q: first the outer terminals, then the others in the ring's order. In other
    // bands they are the primes of the band's levels.
    std::vector<Basis> digits;
  };
  int band(int level) const;
  const KeyLayout& key_layout(int level) const { return key_layouts_[band(level)]; }
  const std::vector<KeyLayout>& key_layouts() const { return key_layouts_; }  // by band
  // Digits of the level's keys that have a prime there.
  std::vector<int> active_digits(int level) const;

  // Key switching at `level` (key_switching.cc; docs/parameters.md): digits of the keys, in groups
  // that are switched as one, and the leading auxiliary primes that such a switch needs, of product
  // P_level. If there is one group, it takes as few primes as possible; several groups take all of
  // them.
  const std::vector<std::vector<int>>& digit_groups(int level) const;
  // Primes of the group in basis(level).
  Basis group_basis(int level, const std::vector<int>& group) const;
  Basis aux_basis(int level) const;  // the primes of P_level
  Basis extended(int level) const;   // basis(level) and the primes of P_level
  // Variance that one coefficient gains: from the keys' errors, and by a whole switch, merged with
  // the rescale of `level` or not (rlwe/noise.h).
  double key_error_variance(int level) const;
  double key_switch_variance(int level, bool drop_level) const;
  Basis encapsulation_basis() const;  // base primes and as many leading auxiliary primes

  // P': the first two auxiliary primes, by which OverModRaise goes beyond the top level.
  Basis over_raise_basis() const;
  double over_raise_factor() const;  // product of the primes of P'

  // Primes that leave and enter between level and level-1 (rational rescale).
  Basis leaving(int level) const;
  Basis entering(int level) const;

  // Canonical scale S_level: S_0 = 2^log_scale, S_l = sqrt(S_(l-1) Q_l / Q_(l-1)) up to the default
  // level; above it (bootstrapping levels) the exact rescale factor is what counts.
  // In plain double arithmetic from S_0 on: the same bits everywhere.
  double scale(int level) const;
  double target_log_scale(int level) const;  // the target of scale(level)
  double rescale_factor(int level) const;  // Q_level / Q_(level-1): an exact product, rounded once
  double log_q(int level) const;
  double log_q_max() const;
  double log_p() const;
  double log_pq() const { return log_q_max() + log_p(); }
  double scale_drift() const;  // max |log2 S_l - target| over user levels

  // Largest coefficient magnitude of a message (before the scale) that survives at `level`;
  // for inputs of bootstrapping the bound is 2^-r q0 (see log_message_ratio).
  double message_bound(int level) const;
  double bootstrap_log_failure() const;  // log2 Pr[some |I| > K] with all slots

  // Variance that one coefficient gains from a division by `primes` primes: their base conversion
  // leaves a sum of that many centred fractions (because it does not round exactly). It does so in
  // b, and in a, where the secret multiplies it: primes (h + 1) / 12.
  double division_variance(int primes) const;

  // The number of coefficients whose noise reaches a slot in a bootstrapping of `slots` slots: N,
  // or those of the smaller ring (2 slots' worth) in which a sparse plan works.
  double spanned_coefficients(int slots) const;

  double base_modulus() const;  // q0 = Q_0 (at most two primes), rounded once

  // The functions from here on throw ParameterError for parameters without bootstrapping.

  // The integer that multiplies a level-0 ciphertext before ModRaise, so that its scale comes close
  // to q0 / 2^log_message_ratio from below; 1 if q0 falls short of that by a part of a bit.
  std::int64_t bootstrap_scale_up() const;
  // A coefficient m of the level-0 message becomes m times this after ModRaise, in units of q0.
  double bootstrap_message_ratio() const;
  // Whether the last factor of SlotToCoeff rescales together with its key switch. At small scales,
  // two separate divisions have a smaller rounding error.
  bool bootstrap_merges_last() const;
  // Closed forms; nothing is fitted (docs/bootstrapping.md, Precision). slots == 0: N/2.
  BootstrapNoise bootstrap_noise(int slots = 0) const;
  // With SlotToCoeff first: coefficients then hold the slots times `ratio`, in units of q0.
  BootstrapNoise bootstrap_noise_slots_first(int slots, double ratio) const;
  // The power of two for which the sum of noise and the error of the sine is smallest.
  double bootstrap_slots_first_ratio(int slots) const;
  BootstrapPrecision bootstrap_precision() const;
  // Bytes of one key of band 0 in memory: dnum pairs over Q_max P.
  std::size_t switching_key_bytes() const;

  const std::string& hash() const { return hash_; }  // SHA-256 of the canonical text, hex
  std::string canonical_text() const;                // the text that is hashed and stored in files
  std::string explain() const;                       // a table for people

 private:
  Params() = default;
  struct KeySwitching {
    std::vector<std::vector<int>> groups;
    int aux = 0;
  };
  BootstrapNoise middle_noise(double count, double gain) const;
  void derive();
  void derive_keys();
  KeyLayout key_layout_of(int lowest, const std::vector<int>& primes, const Basis& aux) const;
  KeySwitching key_switching_at(int level) const;
  double key_error_variance(int level, const KeySwitching& how) const;
  BigUint product_of(const Basis& basis) const;
  void check_level(int level, int least, const char* operation) const;
  Basis basis_of(const LevelShape& shape) const;
  ParamsLiteral literal_;
  int default_level_ = 0;
  std::vector<std::uint32_t> ring_primes_;
  // By level, like the next ones; stored because operations ask for them often.
  std::vector<Basis> basis_;
  std::vector<double> scale_, log_q_, rescale_factor_;
  std::vector<KeyLayout> key_layouts_;  // by band
  std::vector<int> band_;               // by level, as key_switching_ is
  std::vector<KeySwitching> key_switching_;
  std::string hash_;
};

// Reads canonical text back. Throws FileError for any text that canonical_text() would not write.
ParamsLiteral parse_params(const std::string& text);

// Named sets, "n16-d40-boot-v1" and so on. Throws ParameterError listing near names.
std::shared_ptr<const Params> preset(const std::string& name);
std::vector<std::string> preset_names();

}  // namespace latticino
