// Bundles of keys of both schemes in a store with a budget.
#include "session/key_store.h"

#include "bindings.h"
#include "rlwe/client.h"
#include "session/bundles.h"
#include "switch/route.h"
#include "tfhe.h"

namespace latticino::python {
namespace {

using session::CkksBundle;
using session::CkksStored;
using session::KeyStore;
using session::part_of;
using session::TfheBundle;
using session::TfheStored;
using switching::SwitchKeys;
using SwitchContextPtr = std::shared_ptr<const switching::Context>;

struct KeyPin {
  KeyStore::Pin pin;
};

CkksStored add_ckks(const std::shared_ptr<KeyStore>& store, const ContextPtr& context,
                    std::shared_ptr<rlwe::EvaluationKeys> keys,
                    const std::shared_ptr<rlwe::PublicKey>& public_key,
                    const std::map<std::string, SwitchContextPtr>& sets,
                    const std::map<std::string, std::shared_ptr<SwitchKeys>>& switching) {
  auto bundle = std::make_shared<CkksBundle>();
  bundle->context = context;
  bundle->keys = std::move(keys);
  bundle->public_key = public_key;
  for (const auto& [name, set] : switching) bundle->switching[name] = {sets.at(name), set};
  return session::add_ckks(store, std::move(bundle));
}

TfheStored add_tfhe(const std::shared_ptr<KeyStore>& store, const TfheContextPtr& context,
                    std::shared_ptr<tfhe::ServerKeys> keys) {
  auto bundle = std::make_shared<TfheBundle>();
  bundle->context = context;
  bundle->keys = std::move(keys);
  return session::add_tfhe(store, std::move(bundle));
}

template <class Stored>
void bind_stored(nb::class_<Stored>& stored) {
  stored.def(
      "hold", [](const Stored& s) { return KeyPin{s.hold()}; },
      "Keeps the bundle in device memory for as long as the result lives.", ReleaseGil());
}

}  // namespace

void bind_key_store(nb::module_& m) {
  // NOLINTNEXTLINE(bugprone-unused-raii): making the object registers the class.
  nb::class_<KeyPin>(m, "KeyPin", "Keeps a bundle in device memory.");
  nb::class_<KeyStore>(m, "KeyStore", "Bundles of several clients within a budget of memory.")
      .def_static(
          "of_ckks",
          [](const ContextPtr& context, std::optional<std::uint64_t> budget) {
            return std::make_shared<KeyStore>(context->shared_queue(), budget);
          },
          "context"_a, "budget"_a.none())
      .def_static(
          "of_tfhe",
          [](const TfheContextPtr& context, std::optional<std::uint64_t> budget) {
            return std::make_shared<KeyStore>(context->shared_queue(), budget);
          },
          "context"_a, "budget"_a.none())
      .def("add_ckks", &add_ckks, "context"_a, "keys"_a, "public_key"_a.none(), "sets"_a,
           "switching"_a, ReleaseGil())
      .def("add_tfhe", &add_tfhe, "context"_a, "keys"_a, ReleaseGil())
      .def_prop_ro("budget", &KeyStore::budget)
      .def("uses", [](const KeyStore& store) {
        std::vector<KeyStore::Use> uses;
        {
          const nb::gil_scoped_release release;
          uses = store.uses();
        }
        nb::list out;
        for (const KeyStore::Use& u : uses) {
          out.append(nb::make_tuple(u.id, u.bytes, u.host_bytes, u.resident, u.pinned, u.last_use,
                                    u.evictions));
        }
        return out;
      });
  auto ckks = nb::class_<CkksStored>(m, "StoredKeys", "A bundle of CKKS in a store.");
  bind_stored(ckks);
  ckks.def_prop_ro(
          "keys",
          [](const CkksStored& s) {
            const auto bundle = s.bundle();
            return part_of(bundle, bundle->keys.get());
          },
          ReleaseGil())
      .def_prop_ro(
          "public_key",
          [](const CkksStored& s) {
            const auto bundle = s.bundle();
            return bundle->public_key == nullptr ? nullptr
                                                 : part_of(bundle, bundle->public_key.get());
          },
          ReleaseGil())
      .def(
          "switch_keys",
          [](const CkksStored& s, const std::string& name) {
            const auto bundle = s.bundle();
            return part_of(bundle, bundle->switching.at(name).second.get());
          },
          "name"_a, ReleaseGil())
      .def(
          "switcher",
          [](const CkksStored& s, const std::string& name, int slots, double bound,
             bool minimal_keys, const std::string& route) {
            const auto bundle = s.bundle();
            return part_of(
                bundle,
                bundle->switcher(name, slots, bound, minimal_keys, switching::route_of(route))
                    .get());
          },
          "name"_a, "slots"_a, "bound"_a, "minimal_keys"_a, "route"_a, ReleaseGil());
  auto tfhe = nb::class_<TfheStored>(m, "TfheStoredKeys", "A bundle of TFHE in a store.");
  bind_stored(tfhe);
  tfhe.def_prop_ro(
          "keys",
          [](const TfheStored& s) {
            const auto bundle = s.bundle();
            return part_of(bundle, bundle->keys.get());
          },
          ReleaseGil())
      .def_prop_ro(
          "evaluator",
          [](const TfheStored& s) {
            const auto bundle = s.bundle();
            return part_of(bundle, bundle->engine().get());
          },
          ReleaseGil());
}

}  // namespace latticino::python
