// What holds a secret: generation, encryption, decryption. Server code never includes this file.
#pragma once

#include <memory>
#include <span>

#include "params/params.h"
#include "rlwe/constants.h"
#include "rlwe/keys.h"
#include "rlwe/random.h"

namespace latticino::rlwe {

// Ternary secret of a Params, and the sparse encapsulation secret if it bootstraps. Coefficients
// live in locked host memory, cleared on destruction; device copies live in secret blocks.
class SecretKey {
 public:
  static SecretKey generate(std::shared_ptr<const Params> params, Random& random);
  ~SecretKey();
  SecretKey(SecretKey&&) noexcept;
  const KeyId& id() const;
  const Params& params() const;
  const std::vector<std::int8_t>& coefficients() const;
  const std::vector<std::int8_t>& sparse_coefficients() const;  // KeyError if none

 private:
  friend class SecretKeyFile;
  struct Data;
  explicit SecretKey(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// Evaluation keys of a server: everything it may know. Thread-safe to read.
class EvaluationKeys : public KeySource {
 public:
  EvaluationKeys(KeyId id, std::string params_hash);
  void insert(SwitchKey key);  // replaces a lower-level key of the same label
  const SwitchKey& get(const KeyLabel& label, int level) const override;
  bool has(const KeyLabel& label, int level) const override;
  KeyId id() const override { return id_; }
  const std::string& params_hash() const { return params_hash_; }
  std::vector<KeyLabel> labels() const;
  std::size_t bytes() const;

 private:
  KeyId id_;
  std::string params_hash_;
  std::map<KeyLabel, SwitchKey> keys_;
};

// A KeySource for dry contexts: grants every key, remembers label and highest level.
class KeyRecorder : public KeySource {
 public:
  explicit KeyRecorder(const Constants& constants);
  const SwitchKey& get(const KeyLabel& label, int level) const override;
  bool has(const KeyLabel&, int) const override { return true; }
  KeyId id() const override { return {}; }
  KeyRequest request() const;
  std::size_t bytes() const;  // that the requested keys will take

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Generates switching keys on `queue`.
class KeyGenerator {
 public:
  KeyGenerator(const Constants& constants, Queue& queue, const SecretKey& secret, Random& random);
  SwitchKey make(const KeyLabel& label, int level);
  std::shared_ptr<EvaluationKeys> make(const KeyRequest& request);

 private:
  const Constants& constants_;
  Queue& queue_;
  const SecretKey& secret_;
  Random& random_;
};

struct PublicKey {
  KeyId id;
  std::string params_hash;
  std::array<Poly, 2> parts;          // (b, a) over basis(top) + nothing else, Eval
  std::array<std::uint8_t, 32> seed{};
};
PublicKey make_public_key(const Constants& constants, Queue& queue, const SecretKey& secret,
                          Random& random);

// Encryptions of an Eval polynomial m over basis(level): (b, a) = (-a s + e + m, a). The seed that
// makes `a` is returned for files that store it instead of a.
struct FreshPair {
  std::array<Poly, 2> parts;
  std::array<std::uint8_t, 32> seed{};
  bool seeded = false;
};
FreshPair encrypt_symmetric(const Constants& constants, Queue& queue, const SecretKey& secret,
                            const PolyView& m, int level, Random& random);
FreshPair encrypt_public(const Constants& constants, Queue& queue, const PublicKey& key,
                         const PolyView& m, int level, Random& random);

// b + a s (+ r s^2): centred coefficients as doubles divided by `scale`, Coeff order.
std::vector<double> decrypt(const Constants& constants, Queue& queue, const SecretKey& secret,
                            std::span<const PolyView> parts, int level, double scale);

}  // namespace latticino::rlwe
