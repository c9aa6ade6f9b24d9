// The keys that a server may know. Nothing here can decrypt, and no type here refers to a secret
// key (rlwe/client.h has those types).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rlwe/constants.h"
#include "rlwe/keys.h"

namespace latticino::rlwe {

// The shape of a key: its digits and primes.
struct KeyShape {
  Basis basis;
  std::vector<int> digits;
  std::size_t bytes(int n) const;
};
// Throws KeyError for a label or level that the parameters do not have.
KeyShape key_shape(const Constants& constants, const KeyLabel& label, int level);

// Evaluation keys of a server. Reading is thread-safe; `insert` needs the object to itself.
class EvaluationKeys : public KeySource {
 public:
  EvaluationKeys(KeyId id, std::string params_hash);
  void insert(SwitchKey key);  // replaces a key of the same label and a lower level
  const SwitchKey& get(const KeyLabel& label, int level) const override;
  bool has(const KeyLabel& label, int level) const override;
  KeyId id() const override { return id_; }
  const std::string& params_hash() const { return params_hash_; }
  std::vector<KeyLabel> labels() const;
  std::size_t bytes() const;
  std::size_t sum_bytes() const;  // bytes of the sums of digits that operations have made so far

 private:
  KeyId id_;
  std::string params_hash_;
  std::map<KeyLabel, SwitchKey> keys_;
};

// A KeySource for dry contexts. It grants every key, and remembers the label and the highest level.
// Thread-safe.
class KeyRecorder : public KeySource {
 public:
  explicit KeyRecorder(const Constants& constants);
  const SwitchKey& get(const KeyLabel& label, int level) const override;
  bool has(const KeyLabel&, int) const override { return true; }
  KeyId id() const override { return {}; }
  KeyRequest request() const;
  std::size_t bytes() const;  // bytes that the requested keys will take

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace latticino::rlwe
