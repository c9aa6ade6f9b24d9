// The operations of a server: gates on booleans, sums and tables on small integers. Every function
// takes and returns batches, element by element; a batch of one is combined with every element.
// Functions return new ciphertexts; operands stay valid, also after an exception.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "tfhe/ciphertext.h"
#include "tfhe/gates.h"
#include "tfhe/server_keys.h"
#include "tfhe/table.h"

namespace latticino::tfhe {

class Evaluator {
 public:
  // `keys` may be null. Then only sums work, and other functions throw KeyError; clear ciphertexts
  // are added to those under `key`.
  Evaluator(std::shared_ptr<const Context> context, std::shared_ptr<const ServerKeys> keys,
            const rlwe::KeyId& key = {});
  const std::shared_ptr<const Context>& context() const { return context_; }

  // A ciphertext that anyone can read, because it has no mask and no noise.
  Ciphertext clear(std::span<const std::uint32_t> messages, Encoding encoding) const;

  // Takes one bootstrapping for each result.
  Ciphertext gate(Gate gate, const Ciphertext& x, const Ciphertext& y) const;
  // Different gates in one blind rotation of all: gates[i] on x[i] and y[i].
  std::vector<Ciphertext> gates(std::span<const Gate> gates, std::span<const Ciphertext> x,
                                std::span<const Ciphertext> y) const;
  Ciphertext logical_not(const Ciphertext& x) const;  // takes no bootstrapping
  // s ? x : y, element by element. It takes two bootstrappings, which run in one batch; the result
  // has norm2 = 2.
  Ciphertext mux(const Ciphertext& s, const Ciphertext& x, const Ciphertext& y) const;

  // Whether a table on a padded (or full) sum of this norm2 fails as rarely as the set states.
  bool decides(double norm2) const;
  bool decides_full(double norm2) const;
  // Whether this gate fails as rarely as the set states.
  bool decides(Gate gate, const Ciphertext& x, const Ciphertext& y) const;
  // x with the error of one bootstrapping. The second form: both operands of a gate, bootstrapped
  // if it would fail too often otherwise.
  Ciphertext refreshed(const Ciphertext& x) const;
  std::pair<Ciphertext, Ciphertext> gate_operands(Gate gate, const Ciphertext& x,
                                                  const Ciphertext& y) const;

  // x plus an encryption of zero under the public key among the keys, a fresh one for each
  // ciphertext. KeyError without a public key.
  Ciphertext rerandomized(const Ciphertext& x) const;

  // Sums without bootstrapping. Padded results must stay below 2^p (LevelError); full ones wrap.
  // LevelError if a decryption of the result would fail more often than the set states.
  Ciphertext add(const Ciphertext& x, const Ciphertext& y) const;
  Ciphertext sub(const Ciphertext& x, const Ciphertext& y) const;  // for full messages only
  Ciphertext add_clear(const Ciphertext& x, std::uint32_t m) const;
  Ciphertext multiply_clear(const Ciphertext& x, std::int32_t factor) const;
  Ciphertext to_full(const Ciphertext& x) const;  // for padded x, with four times its squared norm

  // factor * high + low, padded; the sum of all; m - x for m >= x.largest, padded.
  Ciphertext pack(const Ciphertext& high, const Ciphertext& low, std::int32_t factor) const;
  Ciphertext sum(std::span<const Ciphertext> x) const;
  Ciphertext complement(const Ciphertext& x, std::uint32_t m) const;

  // f(x) for padded x below the table's entries (LevelError), one bootstrapping; several functions
  // at once share it (one result each).
  Ciphertext apply(const Ciphertext& x, const Table& table) const;
  std::vector<Ciphertext> apply_many(const Ciphertext& x, const Table& table) const;
  // Tables on several batches in one blind rotation: tables[i] on x[i], all with the same number of
  // functions. Result t of x[i] is at [i * functions + t].
  std::vector<Ciphertext> apply_each(std::span<const Ciphertext> x,
                                     std::span<const Table* const> tables) const;
  // f(x) for full x. One bootstrapping finds the half of the torus, and a second one looks up. All
  // tables (of one function of every message) share the first.
  Ciphertext apply_full(const Ciphertext& x, const Table& table) const;
  std::vector<Ciphertext> apply_full(const Ciphertext& x,
                                     std::span<const Table* const> tables) const;

 private:
  struct Term {
    const Ciphertext* x;
    std::int32_t factor;
  };
  static double squared_norm(std::span<const Term> terms);
  static Origins origins(std::span<const Term> terms);
  struct Sum {
    std::vector<Term> terms;
    std::uint32_t constant = 0;
  };
  // One blind rotation of a batch: the sum's phases look up in `table`.
  struct Lookup {
    Sum sum;
    PolyView table;
    double distance = 0;  // distance of a phase from a wrong decision, divided by q
    double norm2 = 0;     // norm2 of the sum
    Encoding out = Encoding::Boolean;
    std::vector<std::uint32_t> largest{1};  // largest message of each function's results
  };
  void require(const char* operation, const Ciphertext& x, Encoding encoding) const;
  const ServerKeys& keys(const char* operation, const Ciphertext& x) const;
  std::uint32_t batch(const char* operation, const Sum& sum) const;
  Ciphertext combine(const char* operation, const Sum& sum, Encoding encoding,
                     std::uint32_t largest) const;
  Ciphertext result(const Ciphertext& like, Encoding encoding, std::uint32_t count) const;
  Lookup gate_lookup(Gate gate, const Ciphertext& x, const Ciphertext& y) const;
  Lookup table_lookup(const char* operation, const Ciphertext& x, const Table& table) const;
  std::vector<Ciphertext> looked_up(const char* operation, std::span<const Ciphertext> x,
                                    std::span<const Table* const> tables) const;
  // log2 of the probability that noise in front of a decision exceeds `distance`.
  double log_failure(double norm2, double distance, int log_many) const;
  // Results of lookup i, coefficient t at [i * 2^log_many + t].
  std::vector<Ciphertext> bootstrap(const char* operation, std::span<const Lookup> lookups,
                                    int log_many) const;

  Ciphertext zeros(const Ciphertext& like, std::uint32_t count) const;

  struct Randomness {
    std::mutex mutex;
    rlwe::Random random;
  };
  std::shared_ptr<const Context> context_;
  std::shared_ptr<Randomness> randomness_ = std::make_shared<Randomness>();
  std::shared_ptr<const ServerKeys> keys_;
  rlwe::KeyId key_;        // the key id of what `clear` makes
  Poly eighth_, quarter_;  // constant test polynomials of gates, and that of the sign
};

}  // namespace latticino::tfhe
