// What a server of TFHE computes, on lists of batches. A list is one batch of booleans or single
// bits, or the blocks of integers, least significant first. Gates and integers have one interface:
// bits are booleans of a set of gates, or blocks of an integer set.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "tfhe/integers.h"

namespace latticino::session {

using TfheBatches = std::vector<tfhe::Ciphertext>;

// Batches without data, for dry contexts: fresh encryptions, or ciphertexts with the errors of
// `like`. ContextError for other contexts.
tfhe::Ciphertext tfhe_shape_only(const std::shared_ptr<const tfhe::Context>& context,
                                 std::uint32_t count, std::uint32_t largest, double norm2, int bits,
                                 const tfhe::Ciphertext* like);
// log2 of the probability that the next decision is wrong: that of a table on x, or of a gate on x
// and a bootstrapped value.
double log_failure_of(const tfhe::Ciphertext& x);
// Joins arrays of one width, one after the other. ShapeError for different widths.
TfheBatches concatenate(std::span<const TfheBatches> x);
TfheBatches take(const TfheBatches& x, std::span<const std::uint32_t> places);
// The same as for ciphertexts of CKKS (session/ckks/host.h).
tfhe::Ciphertext allocate_like(const tfhe::Ciphertext& like);
void copy_into(const tfhe::Ciphertext& from, const tfhe::Ciphertext& to);

class TfheEngine {
 public:
  using Batches = TfheBatches;
  using Table = std::span<const std::uint64_t>;  // a result for each input
  TfheEngine(std::shared_ptr<const tfhe::Context> context,
             std::shared_ptr<const tfhe::ServerKeys> keys);
  // An engine without keys, for ciphertexts under `key`: operations that need bootstrapping throw
  // KeyError.
  TfheEngine(std::shared_ptr<const tfhe::Context> context, const rlwe::KeyId& key);
  const std::shared_ptr<const tfhe::Context>& context() const { return evaluator_->context(); }

  Batches clear(std::span<const std::uint64_t> values, int bits) const;
  Batches zero(const Batches& like, int blocks) const;
  Batches logic(tfhe::Gate gate, const Batches& x, const Batches& y) const;
  // Inverts bits, or all bits of integers.
  Batches invert(const Batches& x, bool integer) const;
  Batches bitwise(tfhe::Gate gate, const Batches& x, const Batches& y) const;
  Batches compare(tfhe::Comparison what, const Batches& x, const Batches& y) const;
  Batches select(const Batches& condition, const Batches& x, const Batches& y) const;
  Batches rerandomize(const Batches& x) const;
  Batches sum(std::span<const Batches> x) const;
  Batches shift(const Batches& x, int bits, bool left) const;
  Batches shift_by(const Batches& x, const Batches& amount, bool left) const;
  // For full messages.
  Batches to_full(const Batches& x) const;
  Batches add_full(const Batches& x, const Batches& y) const;
  Batches sub_full(const Batches& x, const Batches& y) const;
  Batches multiply_full(const Batches& x, std::int32_t factor) const;
  // tables[t][x] for each table t. blocks[t]: the number of result blocks; 0: results are bits; -1:
  // full messages.
  std::vector<Batches> lookup(const Batches& x, std::span<const int> blocks,
                              std::span<const Table> tables) const;
  std::vector<Batches> lookup_full(const Batches& x, std::span<const int> blocks,
                                   std::span<const Table> tables) const;
  // tables[t][x * columns + y]
  std::vector<Batches> lookup_pair(const Batches& x, const Batches& y, std::span<const int> blocks,
                                   std::span<const Table> tables, std::uint64_t columns) const;
  // ParameterError for a set of gates.
  const tfhe::Integers& integers(const char* operation) const;

 private:
  explicit TfheEngine(std::shared_ptr<const tfhe::Evaluator> evaluator);
  bool gates() const { return evaluator_->context()->params().booleans(); }
  std::shared_ptr<const tfhe::Evaluator> evaluator_;
  std::optional<tfhe::Integers> integers_;
};

// The engine without keys of a context. An engine has a table on the device and belongs to one key,
// so the one that was used last is kept.
class KeylessEngine {
 public:
  std::shared_ptr<const TfheEngine> of(const std::shared_ptr<const tfhe::Context>& context,
                                       const rlwe::KeyId& key);

 private:
  std::mutex mutex_;
  rlwe::KeyId key_;
  std::shared_ptr<const TfheEngine> engine_;
};

}  // namespace latticino::session
