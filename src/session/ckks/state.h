// The internal state of the public classes of CKKS: contexts and sessions, bundles, arrays.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckks/evaluator/evaluator.h"
#include "latticino/array.h"
#include "session/ckks/contents.h"
#include "session/ckks/host.h"
#include "session/scope.h"
#include "session/tenants.h"

namespace latticino::session {

// A bundle in the store of a host, with the facts that are needed while it is in host memory.
class StoredKeys {
 public:
  StoredKeys(std::shared_ptr<Host> host, std::shared_ptr<CkksBundle> bundle);
  const std::shared_ptr<Host>& host() const { return host_; }
  std::shared_ptr<CkksBundle> bundle() const { return stored_.bundle(); }
  KeyStore::Pin hold() const { return stored_.hold(); }
  const std::string& id() const { return id_; }
  std::uint64_t bytes() const { return bytes_; }
  const std::vector<rlwe::KeyLabel>& labels() const { return labels_; }
  bool has_public_key() const { return public_; }
  const std::vector<std::string>& switching() const { return sets_; }

 private:
  std::shared_ptr<Host> host_;
  CkksStored stored_;
  std::string id_;
  std::vector<rlwe::KeyLabel> labels_;
  std::vector<std::string> sets_;
  std::uint64_t bytes_ = 0;
  bool public_ = false;
};
using StoredKeysPtr = std::shared_ptr<StoredKeys>;

// A context, or a session of one client on it: a host with the keys in use.
class ContextState {
 public:
  explicit ContextState(std::shared_ptr<Host> host) : host_(std::move(host)) {}
  ContextState(std::shared_ptr<ContextState> root, StoredKeysPtr keys)
      : host_(root->host_), root_(std::move(root)), keys_(std::move(keys)) {}
  const std::shared_ptr<Host>& host() const { return host_; }
  const Params& params() const { return host_->params(); }
  // The context of a session; for a context, itself.
  const ContextState* root() const { return root_ == nullptr ? this : root_.get(); }
  Tenants<StoredKeys>& keys() { return keys_; }
  const Tenants<StoredKeys>& keys() const { return keys_; }

  // An engine with the keys for operands under `key`. They stay in device memory as long as the
  // engine exists.
  ckks::Evaluator evaluator(const std::string& key) const;
  // The set of switching of that name; empty: the first one, those with keys in use before others.
  // ParameterError for an unknown name.
  std::string switch_set(const std::string& name, const std::string& key) const;
  std::shared_ptr<const switching::Switcher> switcher(const std::string& name, int slots,
                                                      double bound, bool minimal_keys,
                                                      switching::Route route,
                                                      const std::string& key) const;

 private:
  std::shared_ptr<Host> host_;
  std::shared_ptr<ContextState> root_;
  Tenants<StoredKeys> keys_;
};
using ContextStatePtr = std::shared_ptr<ContextState>;

// ContextError unless the keys belong to the host's parameters and are in its memory.
void require_keys_of(const Host& host, const StoredKeys& keys);

struct ArrayState {
  ContextStatePtr context;
  Contents contents;
  Shape shape;
  std::shared_ptr<const Scope> scope = Scope::current();

  Host& host() const { return *context->host(); }
  const Params& params() const { return context->params(); }
  const Known& known() const { return contents.known; }
  const UnusedSlots& rest() const { return contents.rest; }
  // The objects that operations compute with.
  const Contents& open() const {
    Scope::require_open(scope.get());
    return contents;
  }
  const Parts& parts() const { return open().parts; }
  std::size_t size() const { return size_of(shape); }
  int level() const { return open().level(); }
  double scale() const { return open().scale(); }
  int slots() const { return open().slots(); }
  std::string key() const { return parts()[0].key.str(); }
  bool full() const { return open().full(); }
  bool clean() const { return rest().clean(); }
  // Whether slots lie behind the values.
  bool padded() const {
    return size() != contents.parts.size() * static_cast<std::size_t>(slots());
  }
  ckks::Evaluator evaluator() const { return context->evaluator(key()); }
  double factor_scale(const ckks::Ciphertext& part) const {
    return session::factor_scale(part, host().more_levels());
  }
};
using ArrayStatePtr = std::shared_ptr<const ArrayState>;

inline const ArrayState& state(const Array& x) { return *x.state(); }
// Returns the result of an operation on x. If values may exceed the modulus of the level:
// ScaleError in a plan, a warning otherwise.
Array result_of(const ArrayState& x, Contents made, Shape shape);
inline Array result_of(const ArrayState& x, Contents made) {
  return result_of(x, std::move(made), x.shape);
}
// Returns x, refreshed if its context bootstraps automatically and should do so before `levels`
// levels are taken.
Array ready(const Array& x, int levels);
// x with a number added in all slots after the values, which then hold `after`. Takes no level.
Array with_rest(const Array& x, Complex added, Complex after);
// x with zeros after the values. It takes one level if something else is there.
Array cleaned(const Array& x);
// The same, but only if a known number is there that is larger than the values are.
Array moderate(const Array& x);
// Both arrays, with the shape of the larger one.
struct Aligned {
  Array x, y;
};
Aligned aligned(const Array& x, const Array& y, const char* operation);
// This array, or one level below it if its scale is not the canonical one.
Array canonical(const Array& x);

// Functions that several files use: numbers in messages, finite values, the slots for so many
// values.
std::string text_of(const Shape& shape);
std::string short_number(double x);
void require_finite(Complexes values, const char* operation);
int slots_for(std::size_t size, int most, const char* operation);
// Flat values as rows of `slots`, the last padded with zeros.
std::vector<std::vector<Complex>> rows_of(Complexes values, int slots);
// Plain values, broadcast over leading dimensions to `shape`.
std::vector<Complex> broadcast(const Values& values, const Shape& shape, const char* operation);
Range range_of(const latticino::Range& range);
latticino::Range range_of(const Range& range);
Bits bits_of(const Known& known, std::size_t size, bool full);

// Encrypts values with what is known of them; `encrypt` makes ciphertexts of plaintexts.
using Encrypt = std::function<Parts(std::span<const ckks::Plaintext>)>;
Array encrypted(const ContextStatePtr& context, const Values& x, const EncryptOptions& options,
                bool open, const Encrypt& encrypt);

}  // namespace latticino::session
