#include "session/bundles.h"

#include <cstring>
#include <span>
#include <vector>

#include "io/files.h"
#include "io/switch_files.h"
#include "io/tfhe_files.h"
#include "session/tfhe/engine.h"

namespace latticino::session {
namespace {

class VectorSink : public io::Sink {
 public:
  explicit VectorSink(std::size_t expected) { bytes.reserve(expected); }
  void write(std::span<const std::uint8_t> more) override {
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  // Writes the size of what `body` writes, and then that.
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

std::shared_ptr<CkksBundle> load_ckks(const CkksContextPtr& context,
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

}  // namespace

std::uint64_t CkksBundle::bytes() const {
  std::uint64_t sum = keys->bytes() + keys->sum_bytes();
  if (public_key != nullptr) {
    for (const Poly& part : public_key->parts) sum += part.buffer->bytes();
  }
  for (const auto& [name, set] : switching) sum += set.second->bytes();
  const std::lock_guard lock(mutex_);
  for (const auto& [key, switcher] : switchers_) sum += switcher->bytes();
  return sum;
}

std::vector<std::uint8_t> CkksBundle::stored() const {
  VectorSink sink(bytes() / 2 + kHeaders);
  sink.section([&] { io::save_keys(sink, context->constants(), context->queue(), *keys); });
  sink.section([&] {
    if (public_key != nullptr) {
      io::save_public_key(sink, context->constants(), context->queue(), *public_key);
    }
  });
  for (const auto& entry : switching) {
    const auto& set = entry.second;
    sink.section([&] { io::save_keys(sink, *set.first, *set.second); });
  }
  return std::move(sink.bytes);
}

std::shared_ptr<switching::Switcher> CkksBundle::switcher(const std::string& name, int slots,
                                                          double bound, bool minimal_keys,
                                                          switching::Route route) const {
  const auto& [set_context, set_keys] = switching.at(name);
  const auto queue = context->queue().lock();  // lock order: the queue before the bundle
  const std::lock_guard lock(mutex_);
  std::shared_ptr<switching::Switcher>& made =
      switchers_[{name, slots, bound, minimal_keys, route}];
  if (made == nullptr) {
    switching::SwitchOptions options;
    options.slots = slots;
    options.bound = bound;
    options.minimal_keys = minimal_keys;
    options.route = route;
    made = std::make_shared<switching::Switcher>(set_context, set_keys, options);
  }
  return made;
}

std::uint64_t TfheBundle::bytes() const { return keys->device_bytes(*context); }

std::vector<std::uint8_t> TfheBundle::stored() const {
  VectorSink sink(keys->bytes() / 2 + kHeaders);
  io::save_keys(sink, *context, *keys);
  return std::move(sink.bytes);
}

std::shared_ptr<const TfheEngine> TfheBundle::engine() const {
  const auto queue = context->queue().lock();
  const std::lock_guard lock(mutex_);
  if (engine_ == nullptr) engine_ = std::make_shared<const TfheEngine>(context, keys);
  return engine_;
}

CkksStored add_ckks(const std::shared_ptr<KeyStore>& store, std::shared_ptr<CkksBundle> bundle) {
  std::map<std::string, SwitchContextPtr> sets;
  for (const auto& [name, set] : bundle->switching) sets[name] = set.first;
  const CkksContextPtr context = bundle->context;
  const std::string id = bundle->keys->id().str();
  return {store,
          store->add(id, std::move(bundle), [context, sets](std::span<const std::uint8_t> stored) {
            return load_ckks(context, sets, stored);
          })};
}

TfheStored add_tfhe(const std::shared_ptr<KeyStore>& store, std::shared_ptr<TfheBundle> bundle) {
  const TfheContextPtr context = bundle->context;
  const std::string id = bundle->keys->id.str();
  return {store, store->add(id, std::move(bundle), [context](std::span<const std::uint8_t> stored) {
            auto loaded = std::make_shared<TfheBundle>();
            loaded->context = context;
            io::MemorySource source(stored);
            loaded->keys = io::load_server_keys(source, *context);
            return loaded;
          })};
}

}  // namespace latticino::session
