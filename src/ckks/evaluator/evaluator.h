// The CKKS evaluator, with the operations of the papers. Every function returns a new ciphertext;
// operands stay valid, also after an exception. Levels and scales are aligned automatically where
// the result is exact: a higher operand is brought down to the lower one's level (adjust, paper:
// BitPacker, Sec. 3). Functions of spans do the same to each element, and share launches and keys
// among those of one level and scale: a long vector is a span of ciphertexts.
#pragma once

#include <span>

#include "ckks/ciphertext.h"
#include "ckks/evaluator/scalar.h"
#include "rlwe/key_switch.h"

namespace latticino::ckks {

class Evaluator {
 public:
  // `keys` may be null. Then operations that need a key throw KeyError.
  Evaluator(std::shared_ptr<const Context> context, std::shared_ptr<const rlwe::KeySource> keys);
  const std::shared_ptr<const Context>& context() const { return context_; }
  const rlwe::KeySource& keys() const;
  // The key of this kind for the level of x, in its band; KeyError if x is under another secret.
  const rlwe::SwitchKey& key(const char* operation, const Ciphertext& x,
                             const rlwe::KeyLabel& kind) const;

  Ciphertext add(const Ciphertext& x, const Ciphertext& y) const;
  Ciphertext sub(const Ciphertext& x, const Ciphertext& y) const;
  Ciphertext negate(const Ciphertext& x) const;
  Ciphertext add(const Ciphertext& x, const Plaintext& y) const;
  Ciphertext sub(const Ciphertext& x, const Plaintext& y) const;
  Ciphertext add_scalar(const Ciphertext& x, const Scalar& c) const;
  std::vector<Ciphertext> add(std::span<const Ciphertext> x, std::span<const Ciphertext> y) const;
  std::vector<Ciphertext> sub(std::span<const Ciphertext> x, std::span<const Ciphertext> y) const;
  std::vector<Ciphertext> add_scalar(std::span<const Ciphertext> x, const Scalar& c) const;

  // Products keep scale S_(l-1) exactly: they relinearise and rescale in one merged ModDown and
  // cost one level. *_no_rescale variants keep the level and return scale x.scale * y.scale.
  Ciphertext multiply(const Ciphertext& x, const Ciphertext& y) const;
  Ciphertext square(const Ciphertext& x) const;
  Ciphertext multiply(const Ciphertext& x, const Plaintext& y) const;
  // The result has scale S_(l-1) if x has S_l; any other scale is kept.
  Ciphertext multiply_scalar(const Ciphertext& x, const Scalar& c) const;
  Ciphertext multiply_integer(const Ciphertext& x, std::int64_t c) const;  // takes no level
  Ciphertext multiply_i(const Ciphertext& x, int power) const;  // x * i^power, takes no level
  std::vector<Ciphertext> multiply(std::span<const Ciphertext> x,
                                   std::span<const Ciphertext> y) const;
  std::vector<Ciphertext> multiply(std::span<const Ciphertext> x,
                                   std::span<const Plaintext> y) const;
  std::vector<Ciphertext> multiply_scalar(std::span<const Ciphertext> x, const Scalar& c) const;
  std::vector<Ciphertext> multiply_integer(std::span<const Ciphertext> x, std::int64_t c) const;
  std::vector<Ciphertext> multiply_i(std::span<const Ciphertext> x, int power) const;

  // Building blocks: 3-part product, relinearisation (lazy), rescale.
  Ciphertext tensor(const Ciphertext& x, const Ciphertext& y) const;
  Ciphertext relinearize(const Ciphertext& x) const;
  Ciphertext relinearize_rescale(const Ciphertext& x) const;
  std::vector<Ciphertext> relinearize(std::span<const Ciphertext> x, bool rescale) const;
  // sum_k x[k] y[k], element by element, at the lowest level of all: one key switch and one
  // rescaling for all k. All scales must be canonical, or equal.
  std::vector<Ciphertext> dot(std::span<const std::vector<Ciphertext>> x,
                              std::span<const std::vector<Ciphertext>> y) const;
  Ciphertext rescale(const Ciphertext& x) const;
  std::vector<Ciphertext> rescale(std::span<const Ciphertext> x) const;
  Ciphertext multiply_no_rescale(const Ciphertext& x, const Plaintext& y) const;
  Ciphertext multiply_scalar_no_rescale(const Ciphertext& x, const Scalar& c, double scale) const;

  // Brings x to `level` at scale S_level (or `scale` if given). Throws LevelError for a level above
  // that of x.
  Ciphertext to_level(const Ciphertext& x, int level) const;
  Ciphertext to_level_scale(const Ciphertext& x, int level, double scale) const;
  std::vector<Ciphertext> to_level(std::span<const Ciphertext> x, int level) const;
  // Drops limbs only: the scale stays, and memory is shared. Possible if the primes of basis(level)
  // are among those of x.
  Ciphertext drop_to(const Ciphertext& x, int level) const;

  Ciphertext rotate(const Ciphertext& x, int r) const;  // rotates left by r, see rlwe/galois.h
  Ciphertext conjugate(const Ciphertext& x) const;
  std::vector<Ciphertext> rotate_hoisted(const Ciphertext& x, std::span<const int> r) const;
  // sum over j < count of rotate(x, j * step), count a power of two.
  Ciphertext inner_sum(const Ciphertext& x, int step, int count) const;
  Ciphertext apply_galois(const Ciphertext& x, std::uint32_t galois) const;
  std::vector<Ciphertext> rotate(std::span<const Ciphertext> x, int r) const;
  std::vector<Ciphertext> conjugate(std::span<const Ciphertext> x) const;
  std::vector<Ciphertext> inner_sum(std::span<const Ciphertext> x, int step, int count) const;
  // The same in steps of four terms. The three rotations of a step share a ModUp and a ModDown.
  // This needs three keys for each factor of four in `count`, where inner_sum() needs two.
  std::vector<Ciphertext> inner_sum_by_fours(std::span<const Ciphertext> x, int step,
                                             int count) const;

 private:
  // All elements of such a span have one form (ckks/evaluator/batches.h).
  using Ciphertexts = std::vector<Ciphertext>;
  using Span = std::span<const Ciphertext>;
  void require(const char* operation, const Ciphertext& x) const;
  void require(const char* operation, const Ciphertext& x, const Ciphertext& y) const;
  Ciphertext allocate(const Ciphertext& like, int parts, int level, double scale) const;
  Ciphertext with_parts(const Ciphertext& like, std::vector<Poly> parts, int level,
                        double scale) const;
  Ciphertexts combine(const char* operation, Span x, Span y, int sign) const;
  Ciphertext combine(const char* operation, const Ciphertext& x, const Plaintext& y,
                     int sign) const;
  Ciphertexts scaled(Span x, const ScalarResidues& factor, double scale) const;
  Ciphertexts plus_scalar(Span x, const Scalar& c) const;
  Ciphertexts times(const char* operation, Span x, const Scalar& c, double scale) const;
  Ciphertexts times_integer(Span x, std::int64_t c) const;
  Ciphertexts times_scalar(Span x, const Scalar& c) const;
  Ciphertexts times_i(Span x, int power) const;
  Ciphertexts times_plain(Span x, std::span<const Plaintext> y) const;
  Ciphertexts adjusted(Span x, double scale) const;
  Ciphertexts lowered(Span x, int level, double scale) const;
  Ciphertexts aligned(const char* operation, Span x, std::span<const Plaintext> y,
                      double scale) const;
  Ciphertexts product(const char* operation, Span x, Span y) const;
  Ciphertexts switched(Span products, std::span<const rlwe::SwitchInput> inputs,
                       bool rescale) const;
  Ciphertexts galois_hoisted(const char* operation, Span x,
                             std::span<const std::uint32_t> galois) const;
  Ciphertexts plus_rotated(Span x, std::span<const std::uint32_t> galois) const;

  std::shared_ptr<const Context> context_;
  std::shared_ptr<const rlwe::KeySource> keys_;
};

}  // namespace latticino::ckks
