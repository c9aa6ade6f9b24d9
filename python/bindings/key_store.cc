// Bundles of keys of both schemes in a store with a budget.
#include "session/key_store.h"

#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "bindings.h"
#include "io/files.h"
#include "io/switch_files.h"
#include "io/tfhe_files.h"
#include "math/errors.h"
#include "switch/route.h"
#include "switch/switcher.h"
#include "tfhe.h"

namespace latticino::python {
namespace {

using session::KeyStore;
using switching::Switcher;
using switching::SwitchKeys;
using SwitchContextPtr = std::shared_ptr<const switching::Context>;
using StoreEntry = KeyStore::Handle;

class VectorSink : public io::Sink {
 public:
  explicit VectorSink(std::size_t expected) { bytes.reserve(expected); }
  void write(std::span<const std::uint8_t> more) override {
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  // The size of what `body` writes comes before it.
  template <class Body>
  void section(Body body) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof(std::uint64_t));
    body();
    const std::uint64_t size = bytes.size() - at - sizeof(std::uint64_t);
    std::memcpy(bytes.data() + at, &size, sizeof(size));
  }
  std::vector<std::uint8_t> bytes;
};

std::span<const std::uint8_t> next_section(std::span<const std::uint8_t>& rest) {
  std::uint64_t size = 0;
  std::memcpy(&size, rest.data(), sizeof(size));
  const auto section = rest.subspan(sizeof(size), size);
  rest = rest.subspan(sizeof(size) + size);
  return section;
}

constexpr std::size_t kHeaders = std::size_t{1} << 16;

struct CkksBundle : session::KeyBundle {
  ContextPtr context;
  std::shared_ptr<rlwe::EvaluationKeys> keys;
  std::shared_ptr<rlwe::PublicKey> public_key;  // or null
  std::map<std::string, std::pair<SwitchContextPtr, std::shared_ptr<SwitchKeys>>> switching;

  // Switchers hold the keys: they are made with the bundle in memory, and go with it.
  using SwitcherKey = std::tuple<std::string, int, double, bool, std::string>;
  mutable std::mutex mutex;
  mutable std::map<SwitcherKey, std::shared_ptr<Switcher>> switchers;

  std::uint64_t bytes() const override {
    std::uint64_t sum = keys->bytes() + keys->sum_bytes();
    if (public_key != nullptr) {
      for (const Poly& part : public_key->parts) sum += part.buffer->bytes();
    }
    for (const auto& [name, set] : switching) sum += set.second->bytes();
    const std::lock_guard lock(mutex);
    for (const auto& [key, switcher] : switchers) sum += switcher->bytes();
    return sum;
  }

  std::vector<std::uint8_t> stored() const override {
    VectorSink sink(bytes() / 2 + kHeaders);
    sink.section([&] { io::save_keys(sink, context->constants(), context->queue(), *keys); });
    sink.section([&] {
      if (public_key != nullptr) {
        io::save_public_key(sink, context->constants(), context->queue(), *public_key);
      }
    });
    for (const auto& [name, set] : switching) {
      sink.section([&] { io::save_keys(sink, *set.first, *set.second); });
    }
    return std::move(sink.bytes);
  }
};

std::shared_ptr<CkksBundle> load_ckks(const ContextPtr& context,
                                      const std::map<std::string, SwitchContextPtr>& sets,
                                      std::span<const std::uint8_t> stored) {
  auto bundle = std::make_shared<CkksBundle>();
  bundle->context = context;
  io::MemorySource keys(next_section(stored));
  bundle->keys = io::load_keys(keys, context->constants(), context->queue());
  const auto public_part = next_section(stored);
  if (!public_part.empty()) {
    io::MemorySource source(public_part);
    bundle->public_key = std::make_shared<rlwe::PublicKey>(
        io::load_public_key(source, context->constants(), context->queue()));
  }
  for (const auto& [name, set] : sets) {
    io::MemorySource source(next_section(stored));
    bundle->switching[name] = {set, io::load_switch_keys(source, *set)};
  }
  return bundle;
}

struct TfheBundle : session::KeyBundle {
  TfheContextPtr context;
  std::shared_ptr<tfhe::ServerKeys> keys;
  // It holds the keys and keeps tables: made with the bundle in memory, and gone with it.
  mutable std::mutex mutex;
  mutable std::shared_ptr<void> evaluator;
  std::uint64_t bytes() const override { return keys->device_bytes(*context); }
  std::vector<std::uint8_t> stored() const override {
    VectorSink sink(keys->bytes() / 2 + kHeaders);
    io::save_keys(sink, *context, *keys);
    return std::move(sink.bytes);
  }
};

// An entry with the store that it is in: what Python holds of a bundle.
struct StoredKeys {
  std::shared_ptr<KeyStore> store;
  StoreEntry entry;
  // The bundle, pinned for as long as the result or a part of it lives.
  template <class Bundle>
  std::shared_ptr<Bundle> bundle() const {
    return std::static_pointer_cast<Bundle>(store->pin(entry));
  }
};
struct CkksStored : StoredKeys {};
struct TfheStored : StoredKeys {};
struct LastingPin {
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
  const std::string id = bundle->keys->id().str();
  return {{store, store->add(id, std::move(bundle), [context, sets](std::span<const std::uint8_t> stored) {
             return load_ckks(context, sets, stored);
           })}};
}

TfheStored add_tfhe(const std::shared_ptr<KeyStore>& store, const TfheContextPtr& context,
                    std::shared_ptr<tfhe::ServerKeys> keys) {
  auto bundle = std::make_shared<TfheBundle>();
  bundle->context = context;
  bundle->keys = std::move(keys);
  const std::string id = bundle->keys->id.str();
  return {{store, store->add(id, std::move(bundle), [context](std::span<const std::uint8_t> stored) {
             auto loaded = std::make_shared<TfheBundle>();
             loaded->context = context;
             io::MemorySource source(stored);
             loaded->keys = io::load_server_keys(source, *context);
             return loaded;
           })}};
}

std::shared_ptr<Switcher> switcher_of(const CkksStored& stored, const std::string& name, int slots,
                                      double bound, bool minimal_keys, const std::string& route) {
  const auto bundle = stored.bundle<CkksBundle>();
  const auto& [context, keys] = bundle->switching.at(name);
  const auto queue = bundle->context->queue().lock();  // before the bundle's own, as everywhere
  const std::lock_guard lock(bundle->mutex);
  std::shared_ptr<Switcher>& made =
      bundle->switchers[{name, slots, bound, minimal_keys, route}];
  if (made == nullptr) {
    switching::SwitchOptions options;
    options.slots = slots;
    options.bound = bound;
    options.minimal_keys = minimal_keys;
    options.route = switching::route_of(route);
    made = std::make_shared<Switcher>(context, keys, options);
  }
  // Pinned with the switcher: what it holds is the bundle's.
  return {std::make_shared<std::pair<std::shared_ptr<CkksBundle>, std::shared_ptr<Switcher>>>(
              bundle, made),
          made.get()};
}

std::shared_ptr<void> evaluator_of(const TfheStored& stored) {
  const auto bundle = stored.bundle<TfheBundle>();
  const auto queue = bundle->context->queue().lock();
  const std::lock_guard lock(bundle->mutex);
  if (bundle->evaluator == nullptr) {
    bundle->evaluator = make_tfhe_evaluator(bundle->context, bundle->keys);
  }
  // Pins the bundle for as long as it lives.
  return {bundle, bundle->evaluator.get()};
}

template <class Stored>
void bind_stored(nb::class_<Stored>& stored) {
  stored.def(
      "hold", [](const Stored& s) { return LastingPin{s.store->pin(s.entry, true)}; },
      "Keeps the bundle in device memory for as long as the result lives.", ReleaseGil());
}

}  // namespace

void bind_key_store(nb::module_& m) {
  nb::class_<LastingPin>(m, "KeyPin", "Keeps a bundle in device memory.");
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
            const auto bundle = s.bundle<CkksBundle>();
            return std::shared_ptr<rlwe::EvaluationKeys>(bundle, bundle->keys.get());
          },
          ReleaseGil())
      .def_prop_ro(
          "public_key",
          [](const CkksStored& s) {
            const auto bundle = s.bundle<CkksBundle>();
            return bundle->public_key == nullptr
                       ? nullptr
                       : std::shared_ptr<rlwe::PublicKey>(bundle, bundle->public_key.get());
          },
          ReleaseGil())
      .def(
          "switch_keys",
          [](const CkksStored& s, const std::string& name) {
            const auto bundle = s.bundle<CkksBundle>();
            return std::shared_ptr<SwitchKeys>(bundle, bundle->switching.at(name).second.get());
          },
          "name"_a, ReleaseGil())
      .def("switcher", &switcher_of, "name"_a, "slots"_a, "bound"_a, "minimal_keys"_a, "route"_a,
           ReleaseGil());
  auto tfhe = nb::class_<TfheStored>(m, "TfheStoredKeys", "A bundle of TFHE in a store.");
  bind_stored(tfhe);
  tfhe.def_prop_ro(
      "keys",
      [](const TfheStored& s) {
        const auto bundle = s.bundle<TfheBundle>();
        return std::shared_ptr<tfhe::ServerKeys>(bundle, bundle->keys.get());
      },
      ReleaseGil());
  tfhe.def_prop_ro("evaluator", [](const TfheStored& s) {
    std::shared_ptr<void> evaluator;
    {
      const nb::gil_scoped_release release;
      evaluator = evaluator_of(s);
    }
    return tfhe_evaluator_object(evaluator);
  });
}

}  // namespace latticino::python
