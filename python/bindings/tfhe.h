// TFHE in Python: what its files share. An encrypted array is a list of batches: one of booleans or
// single bits, or the blocks of integers, least significant first.
#pragma once

#include <functional>
#include <mutex>

#include "client.h"
#include "math/errors.h"
#include "tfhe/client.h"
#include "tfhe/evaluator.h"
#include "tfhe/integers.h"

namespace latticino::python {

using TfheParamsPtr = std::shared_ptr<const TfheParams>;
using TfheContextPtr = std::shared_ptr<const tfhe::Context>;
using TfheBatches = std::vector<tfhe::Ciphertext>;
using IntegerInput = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PlaceInput = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::span<const std::uint64_t> as_span(const IntegerInput& x) {
  return {x.data(), x.size()};
}

// Of a type's ciphertexts: below 0 bits full messages, 0 single bits as the set holds them.
tfhe::Encoding encoding_of(const TfheParams& params, int bits);
std::vector<std::uint32_t> as_messages(std::span<const std::uint64_t> values);

// As for ciphertexts of CKKS: uninitialised memory of one's shape, and the copy into it.
tfhe::Ciphertext allocate_like(const tfhe::Ciphertext& like);
void copy_into(const tfhe::Ciphertext& from, const tfhe::Ciphertext& to);

// An evaluator of the class that tfhe_evaluator.cc binds, and the Python object of it.
std::shared_ptr<void> make_tfhe_evaluator(TfheContextPtr context,
                                          std::shared_ptr<const tfhe::ServerKeys> keys);
nb::object tfhe_evaluator_object(const std::shared_ptr<void>& evaluator);

// The one class of TFHE here that holds a secret. Safe to share between threads.
class TfheClient {
 public:
  explicit TfheClient(TfheContextPtr context)
      : context_(std::move(context)),
        secret_(tfhe::SecretKey::generate(context_->shared_params(), random_)) {}
  TfheClient(TfheContextPtr context, tfhe::SecretKey secret)
      : context_(std::move(context)), secret_(std::move(secret)) {}

  const tfhe::SecretKey& secret() const {
    process_.require("client");
    return secret_;
  }
  std::string key_id() const { return secret_.id().str(); }

  // `bits` 0: single bits; below 0: full messages.
  TfheBatches encrypt(std::span<const std::uint64_t> values, int bits);
  std::vector<std::uint64_t> decrypt(const TfheBatches& x) const;
  std::shared_ptr<tfhe::ServerKeys> server_keys(const std::function<void(int, int)>& progress,
                                                bool with_public);

 private:
  OwnProcess process_;
  TfheContextPtr context_;
  rlwe::Random random_;
  tfhe::SecretKey secret_;
  std::mutex mutex_;
};

}  // namespace latticino::python
