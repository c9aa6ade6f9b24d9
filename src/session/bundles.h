// Bundles of keys, for both schemes, in a store with a memory budget (session/key_store.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "ckks/context.h"
#include "rlwe/evaluation_keys.h"
#include "session/key_store.h"
#include "switch/switcher.h"
#include "tfhe/server_keys.h"

namespace latticino::rlwe {
struct PublicKey;
}

namespace latticino::session {

using CkksContextPtr = std::shared_ptr<const ckks::Context>;
using TfheContextPtr = std::shared_ptr<const tfhe::Context>;
using SwitchContextPtr = std::shared_ptr<const switching::Context>;

struct CkksBundle : KeyBundle {
  CkksContextPtr context;
  std::shared_ptr<rlwe::EvaluationKeys> keys;
  std::shared_ptr<rlwe::PublicKey> public_key;  // may be null
  using Set = std::pair<SwitchContextPtr, std::shared_ptr<switching::SwitchKeys>>;
  std::map<std::string, Set> switching;

  std::uint64_t bytes() const override;
  std::vector<std::uint8_t> stored() const override;
  // Made at the first call, and kept as long as the bundle is in memory, because it refers to the
  // keys.
  std::shared_ptr<switching::Switcher> switcher(const std::string& name, int slots, double bound,
                                                bool minimal_keys, switching::Route route) const;

 private:
  using SwitcherKey = std::tuple<std::string, int, double, bool, switching::Route>;
  mutable std::mutex mutex_;
  mutable std::map<SwitcherKey, std::shared_ptr<switching::Switcher>> switchers_;
};

class TfheEngine;  // the class is in session/tfhe/engine.h

struct TfheBundle : KeyBundle {
  TfheContextPtr context;
  std::shared_ptr<tfhe::ServerKeys> keys;
  std::uint64_t bytes() const override;
  std::vector<std::uint8_t> stored() const override;
  // Made at the first call, and kept as long as the bundle is in memory, because it refers to the
  // keys and has tables of its own.
  std::shared_ptr<const TfheEngine> engine() const;

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const TfheEngine> engine_;
};

// An entry of a store, with the store.
template <class Bundle>
struct Stored {
  std::shared_ptr<KeyStore> store;
  KeyStore::Handle entry;
  // The bundle in device memory, pinned for as long as the result or a part of it lives.
  std::shared_ptr<Bundle> bundle() const {
    return std::static_pointer_cast<Bundle>(store->pin(entry));
  }
  KeyStore::Pin hold() const { return store->pin(entry, true); }
};
using CkksStored = Stored<CkksBundle>;
using TfheStored = Stored<TfheBundle>;

// A pointer to a part of a bundle, which keeps the bundle in memory.
template <class Part, class Bundle>
std::shared_ptr<Part> part_of(const std::shared_ptr<Bundle>& bundle, Part* part) {
  return {bundle, part};
}

CkksStored add_ckks(const std::shared_ptr<KeyStore>& store, std::shared_ptr<CkksBundle> bundle);
TfheStored add_tfhe(const std::shared_ptr<KeyStore>& store, std::shared_ptr<TfheBundle> bundle);

}  // namespace latticino::session
