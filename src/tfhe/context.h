#pragma once

#include <cmath>
#include <memory>
#include <mutex>
#include <string>

#include "ops/operations.h"
#include "params/tfhe/params.h"
#include "poly/ring.h"
#include "runtime/queue.h"
#include "tfhe/arithmetic/rule.h"

namespace latticino::tfhe {

// TFHE parameters on a device, as ckks::Context is for CKKS. Owns no secret; threads may share it.
class Context {
 public:
  // Throws ParameterError if the blind rotations of the set are not possible in that arithmetic,
  // and if an arithmetic by number of ciphertexts is asked for over more than one prime.
  static std::shared_ptr<const Context> create(
      std::shared_ptr<const TfheParams> params, std::shared_ptr<Queue> queue,
      const ArithmeticRule& arithmetic = BlindRotateArithmetic::Exact, bool rerandomize = false);
  static std::shared_ptr<const Context> create_dry(
      std::shared_ptr<const TfheParams> params,
      const ArithmeticRule& arithmetic = BlindRotateArithmetic::Exact, bool rerandomize = false);
  ~Context();

  const TfheParams& params() const { return *params_; }
  std::shared_ptr<const TfheParams> shared_params() const { return params_; }
  const ArithmeticRule& arithmetic() const { return arithmetic_; }
  // Whether some rotations may be in FP64. Then the key is also needed in that form, and the error
  // of FP64 has to be included.
  bool in_fourier() const { return arithmetic_.can_use(BlindRotateArithmetic::Fft64); }
  // Whether tables and gates on ciphertexts from outside get an encryption of zero added first.
  bool rerandomizes() const { return rerandomizes_; }
  const Ring& ring() const { return *ring_; }
  Basis basis() const { return {{0, static_cast<std::uint16_t>(ring_->prime_count())}}; }
  Queue& queue() const { return *queue_; }
  const std::shared_ptr<Queue>& shared_queue() const { return queue_; }
  bool is_dry() const { return queue_->is_dry(); }

  // `count` LWE ciphertexts of a dimension, modulo `modulus` (0: the LWE modulus).
  struct Lwe {
    Buffer buffer;
    LweView view;
  };
  Lwe allocate(std::uint32_t dimension, std::uint32_t count, std::uint32_t modulus = 0) const;
  // `count` polynomials, one after another.
  struct Polys {
    Buffer buffer;
    PolyArray view;
  };
  Polys allocate_polys(std::uint32_t count, Domain domain) const;

  // For a dry context: log2 of the sum of the failure probabilities of its bootstrappings, each
  // with the noise that its ciphertext had; -infinity if there are none.
  double log_failure() const;
  void add_failure(double log_failure, std::uint32_t count) const;

 private:
  Context() = default;
  std::shared_ptr<const TfheParams> params_;
  ArithmeticRule arithmetic_ = BlindRotateArithmetic::Exact;
  bool rerandomizes_ = false;
  std::unique_ptr<Ring> ring_;
  std::shared_ptr<Queue> queue_;
  mutable std::mutex failure_mutex_;
  mutable double log_failure_ = -HUGE_VAL;
};

}  // namespace latticino::tfhe
