// Dry runs: programs on a context without data, which tell the keys, the work and the memory that
// they need.
#pragma once

#include <cstdint>
#include <memory>

#include "ckks/evaluator/evaluator.h"
#include "rlwe/evaluation_keys.h"

namespace latticino::session {

// A ciphertext without data, for dry contexts: the shape of a fresh encryption, or of another
// ciphertext. ContextError for a context with a device.
ckks::Ciphertext shape_only(const std::shared_ptr<const ckks::Context>& context, int level,
                            double scale, int slots);
ckks::Ciphertext shape_of(const std::shared_ptr<const ckks::Context>& context,
                          const ckks::Ciphertext& like);

// What programs need that run with this evaluator. Copies note in one place.
class DryRun {
 public:
  // ContextError for a context with a device.
  explicit DryRun(std::shared_ptr<const ckks::Context> context);
  const std::shared_ptr<const ckks::Context>& context() const { return context_; }
  // It has every key.
  ckks::Evaluator evaluator() const { return {context_, keys_}; }
  rlwe::KeyRequest request() const { return keys_->request(); }
  std::uint64_t key_bytes() const { return keys_->bytes(); }
  // The counts since this object was made. peak_bytes is that of the whole context.
  DryReport report() const;

 private:
  std::shared_ptr<const ckks::Context> context_;
  std::shared_ptr<const rlwe::KeyRecorder> keys_;
  DryReport before_;
};

}  // namespace latticino::session
