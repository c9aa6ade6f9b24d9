// The internal state of the public classes of TFHE.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "latticino/tfhe.h"
#include "session/bundles.h"
#include "session/device.h"
#include "session/scope.h"
#include "session/tenants.h"
#include "session/tfhe/engine.h"

namespace latticino::session {

// TFHE parameters on a device, or without data (dry). A dry host has one engine for all keys, which
// has keys without data.
struct TfheHost {
  std::shared_ptr<const TfheParams> params;
  TfheContextPtr native;
  DeviceChoice device;
  int threads = 0;
  bool simd = true;
  std::function<void(const Warning&)> on_warning;
  std::shared_ptr<KeyStore> store;               // null for a twin
  std::shared_ptr<const TfheEngine> dry_engine;  // for a twin only
  std::uint64_t dry_key_bytes = 0;
  KeylessEngine keyless;
  bool dry() const { return store == nullptr; }
  TfheHost(const std::string& preset, const TfheContextOptions& options);
  struct Dry {};
  TfheHost(const TfheHost& like, Dry);
  // Values of a type that one operation takes at once. A product pairs all blocks of both operands.
  std::size_t together(int bits) const;
};

class TfheStoredKeys {
 public:
  TfheStoredKeys(std::shared_ptr<TfheHost> host, std::shared_ptr<TfheBundle> bundle);
  const std::shared_ptr<TfheHost>& host() const { return host_; }
  std::shared_ptr<TfheBundle> bundle() const { return stored_.bundle(); }
  KeyStore::Pin hold() const { return stored_.hold(); }
  const std::string& id() const { return id_; }
  std::uint64_t bytes() const { return bytes_; }
  bool has_public_key() const { return public_; }

 private:
  std::shared_ptr<TfheHost> host_;
  TfheStored stored_;
  std::string id_;
  std::uint64_t bytes_ = 0;
  bool public_ = false;
};

class TfheContextState {
 public:
  explicit TfheContextState(std::shared_ptr<TfheHost> host) : host_(std::move(host)) {}
  TfheContextState(std::shared_ptr<TfheContextState> root, std::shared_ptr<TfheStoredKeys> keys)
      : host_(root->host_), root_(std::move(root)), keys_(std::move(keys)) {}
  const std::shared_ptr<TfheHost>& host() const { return host_; }
  const TfheParams& params() const { return *host_->params; }
  const TfheContextState* root() const { return root_ == nullptr ? this : root_.get(); }
  Tenants<TfheStoredKeys>& keys() { return keys_; }
  const Tenants<TfheStoredKeys>& keys() const { return keys_; }
  // An engine with the keys for operands under `key`. They stay in device memory as long as the
  // engine exists.
  std::shared_ptr<const TfheEngine> engine(const std::string& key) const;
  // The same, but if there are no keys, an engine without keys. It can compute sums.
  std::shared_ptr<const TfheEngine> engine_for(const rlwe::KeyId& key) const;

 private:
  std::shared_ptr<TfheHost> host_;
  std::shared_ptr<TfheContextState> root_;
  Tenants<TfheStoredKeys> keys_;
};

struct TfheArrayState {
  std::shared_ptr<TfheContextState> context;
  TfheBatches held;
  int bits = 0;
  std::shared_ptr<const Scope> scope = Scope::current();
  const TfheBatches& parts() const {
    Scope::require_open(scope.get());
    return held;
  }
  std::size_t size() const { return held[0].size(); }
  std::string key() const { return parts()[0].key.str(); }
  std::shared_ptr<const TfheEngine> engine() const { return context->engine_for(parts()[0].key); }
};

inline const TfheArrayState& state(const TfheArray& x) { return *x.state(); }
TfheArray tfhe_array(const std::shared_ptr<TfheContextState>& context, TfheBatches parts, int bits);
// Checks a type against the set (ParameterError), and values against a type (ValueError,
// ShapeError).
void require_type(const TfheParams& params, TfheType type, const char* operation);
void require_values(std::span<const std::uint64_t> values, TfheType type, const char* operation);
std::uint64_t most_of(int bits);  // the largest value of a type
void require_keys_of(const TfheHost& host, const TfheStoredKeys& keys, const char* operation);

}  // namespace latticino::session
