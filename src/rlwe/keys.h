// Keys of the RLWE layer. Convention everywhere: a ciphertext (b, a) decrypts to b + a*s; an
// encryption of m is b = -a*s + e + m. Uniform parts come from seeds (ExpandUniform).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "params/params.h"
#include "runtime/queue.h"

namespace latticino::rlwe {

// 128-bit identity of a secret key, drawn at random with it. Every object that is made under that
// secret has this identity. So mixing keys is an error, and never gives a wrong result.
struct KeyId {
  std::array<std::uint8_t, 16> bytes{};
  bool operator==(const KeyId&) const = default;
  auto operator<=>(const KeyId&) const = default;
  std::string str() const;
};

enum class KeyKind : std::uint8_t {
  Relinearize,    // encrypts s^2 under s
  Galois,         // encrypts s under phi_g^-1(s): switch first, then apply phi_g
  DenseToSparse,  // encrypts s under s_sparse, modulo base primes and as many aux primes, one digit
  SparseToDense,  // encrypts s_sparse under s: one digit (P on every Q prime)
  OverRaise,      // encrypts s_sparse under phi_g^-1(s): one digit, P/P' on every Q and P' prime
};

struct KeyLabel {
  KeyKind kind = KeyKind::Relinearize;
  std::uint32_t galois = 1;  // for Galois and OverRaise only
  int band = 0;              // the band of the levels that it serves (Params::band)
  auto operator<=>(const KeyLabel&) const = default;
  // The label of the key that does the same at `level`.
  KeyLabel at(const Params& params, int level) const { return {kind, galois, params.band(level)}; }
  std::string str() const;  // "galois(5)", and in a band "galois(5)[2]"
  // The label as text for messages, with the steps of a rotation.
  std::string describe(int log_n) const;
};

class Constants;
struct SwitchKey;

// Sums of two digits of a key, for levels that switch both digits as one (Params::digit_groups).
// They are made at the first use and kept with the key. Thread-safe.
class MergedDigits {
 public:
  // The pair (b, a) of digits `first` and `last` of `key` over at least extended(level).
  std::array<PolyView, 2> get(Queue& queue, const Constants& constants, const SwitchKey& key,
                              int first, int last, int level);
  std::size_t bytes() const;  // bytes of the sums made so far

 private:
  mutable std::mutex mutex_;
  std::map<std::array<int, 2>, std::array<Poly, 2>> sums_;
};

// One key-switching key: digits of (b, a), Eval, over its basis. Digit j encrypts P * target on
// the primes of digit j of Params::key_layout (every prime for single-digit keys) and 0 elsewhere,
// where P is the product of all auxiliary primes of that layout. Keys may be cut to the highest
// level they are used at: `level`, basis = Constants::key_basis(level), which serves every lower
// level of the band too.
struct SwitchKey {
  KeyLabel label;
  int level = 0;
  std::vector<int> digit_index;             // for each entry, which digit of Params it is
  std::vector<std::array<Poly, 2>> digits;  // pairs (b, a)
  std::array<std::uint8_t, 32> seed{};  // makes the a parts: ExpandUniform{seed, stream = digit}
  std::shared_ptr<MergedDigits> merged = std::make_shared<MergedDigits>();
  // Digit `digit` of Params, over the key's basis; KeyError if the key was cut below it.
  std::array<PolyView, 2> digit(int digit) const;
  std::size_t bytes() const;  // bytes of the digits
};

// A key of one digit from one secret to another of any kind (switch_one_digit), Eval over its
// basis.
struct OneDigitKey {
  std::array<Poly, 2> parts;            // pairs (b, a)
  std::array<std::uint8_t, 32> seed{};  // makes the a part: ExpandUniform{seed, stream 0}
  std::size_t bytes() const { return parts[0].buffer->bytes() + parts[1].buffer->bytes(); }
};

// A source of keys for scheme code. A server's bundle returns keys from memory or throws KeyError.
// The source of a dry run notes which keys were asked for, and returns keys of the right shape
// without data.
class KeySource {
 public:
  virtual ~KeySource() = default;
  // The key for `label`, usable at `level` (its own level is >= level).
  virtual const SwitchKey& get(const KeyLabel& label, int level) const = 0;
  virtual bool has(const KeyLabel& label, int level) const = 0;
  virtual KeyId id() const = 0;
};

// The keys a program needs and the highest level of each; a dry run fills it.
using KeyRequest = std::map<KeyLabel, int>;

}  // namespace latticino::rlwe
