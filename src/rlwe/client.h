// Everything that holds a secret: generation, encryption, decryption. No server code includes this
// file (its keys are in rlwe/evaluation_keys.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "params/params.h"
#include "rlwe/constants.h"
#include "rlwe/evaluation_keys.h"
#include "rlwe/keys.h"
#include "rlwe/random.h"

namespace latticino::rlwe {

using latticino::kErrorSigma;

// Ternary secret of a Params, and the sparse encapsulation secret if it bootstraps. Coefficients
// live in locked host memory, cleared on destruction; device copies live in secret blocks.
class SecretKey {
 public:
  static SecretKey generate(std::shared_ptr<const Params> params, Random& random);
  // From a file: checks lengths, ternary range and Hamming weights (KeyError).
  static SecretKey restore(std::shared_ptr<const Params> params, const KeyId& id,
                           std::span<const std::int8_t> coefficients,
                           std::span<const std::int8_t> sparse_coefficients);
  ~SecretKey();
  SecretKey(SecretKey&&) noexcept;
  SecretKey& operator=(SecretKey&&) noexcept;
  const KeyId& id() const;
  const Params& params() const;
  std::span<const std::int8_t> coefficients() const;
  std::span<const std::int8_t> sparse_coefficients() const;  // throws KeyError if there is none

 private:
  struct Data;
  explicit SecretKey(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// Generates switching keys on `queue`.
class KeyGenerator {
 public:
  KeyGenerator(const Constants& constants, Queue& queue, const SecretKey& secret, Random& random);
  SwitchKey make(const KeyLabel& label, int level);
  // The same with a seed that was drawn before (Random::seed). This key, and the keys that are made
  // after it, are the same as if the seed were drawn now.
  SwitchKey make(const KeyLabel& label, int level, const Seed& seed);
  std::shared_ptr<EvaluationKeys> make(const KeyRequest& request);

 private:
  struct Relation;
  Relation relation(const KeyLabel& label, int level, const Basis& basis);

  const Constants& constants_;
  Queue& queue_;
  const SecretKey& secret_;
  Random& random_;
  Poly dense_;  // the secret over every prime, in Eval, in a secret block; made on first use
};

struct PublicKey {
  KeyId id;
  std::string params_hash;
  std::array<Poly, 2> parts;            // (b, a) over every Q prime, Eval
  std::array<std::uint8_t, 32> seed{};  // a = ExpandUniform{seed, stream 0}
};
PublicKey make_public_key(const Constants& constants, Queue& queue, const SecretKey& secret,
                          Random& random);

// Encryptions of an Eval polynomial m over basis(level): (b, a) = (-a s + e + m, a). The seed that
// makes `a` is returned for files that store it instead of a. Errors are sampled on the host; all
// else runs on the queue, a batch together.
struct FreshPair {
  std::array<Poly, 2> parts;
  std::array<std::uint8_t, 32> seed{};
  bool seeded = false;
};
std::vector<FreshPair> encrypt_symmetric(const Constants& constants, Queue& queue,
                                         const SecretKey& secret, std::span<const PolyView> m,
                                         int level, Random& random);
FreshPair encrypt_symmetric(const Constants& constants, Queue& queue, const SecretKey& secret,
                            const PolyView& m, int level, Random& random);
// With the public key: (b v + e0 + m, a v + e1) with v ternary.
FreshPair encrypt_public(const Constants& constants, Queue& queue, const PublicKey& key,
                         const PolyView& m, int level, Random& random);

// b + a s (+ r s^2) for several ciphertexts, in Coeff over basis(level), in secret blocks.
std::vector<Poly> phases(const Constants& constants, Queue& queue, const SecretKey& secret,
                         std::span<const std::vector<PolyView>> ciphertexts, int level);

// The phase's centred coefficients as doubles divided by `scale`, Coeff order; exact CRT for
// any modulus, correctly rounded but for the division. For the owner of the key only: the result
// holds the noise, and with the ciphertext it gives the secret away (Li-Micciancio, EUROCRYPT
// 2021).
std::vector<double> decrypt(const Constants& constants, Queue& queue, const SecretKey& secret,
                            std::span<const PolyView> parts, int level, double scale);

// Noise flooding for results that others will see: a discrete Gaussian of deviation
//   sigma_f = sqrt(12 queries) 2^(statistical_bits / 2) noise_bound
// is added to the exact integer coefficients (Li, Micciancio, Schultz, Sorrell, CRYPTO 2022). The
// divergence that the proof bounds is that of two Gaussians as far apart as the noise is long, so
// noise_bound is a Euclidean norm.
struct Flooding {
  // Bounds the Euclidean norm of the noise polynomial, in units of 1 (not of 1/scale): sqrt(N)
  // times a bound of every coefficient. A worst case of the application, never measured on secret
  // data.
  double noise_bound = 0;
  // The largest number of decryptions under this key that may ever be shared.
  std::uint64_t queries = 0;
  int statistical_bits = 30;
  double sigma() const;  // throws ValueError for bounds or counts that are not positive
  // log2 of the quotient of sigma_f and the noise of a coefficient, noise_bound / sqrt(n).
  double bits_lost(int n) const;
};
// The phase (in a secret block) with the flood added.
struct FloodedPhase {
  Poly phase;
  double sigma = 0, bits_lost = 0;
};
FloodedPhase flooded_phase(const Constants& constants, Queue& queue, const SecretKey& secret,
                           std::span<const PolyView> parts, int level, const Flooding& flooding,
                           Random& random);
struct SharedDecryption {
  std::vector<double> coefficients;
  double sigma = 0, bits_lost = 0;
};
SharedDecryption decrypt_for_sharing(const Constants& constants, Queue& queue,
                                     const SecretKey& secret, std::span<const PolyView> parts,
                                     int level, double scale, const Flooding& flooding,
                                     Random& random);

}  // namespace latticino::rlwe
