#include <string>
#include <vector>

#include "io/codec/poly.h"
#include "io/codec/switch_key.h"
#include "io/files.h"
#include "math/errors.h"

namespace latticino::io {
namespace {

using rlwe::Constants;
using rlwe::EvaluationKeys;
using rlwe::KeyKind;
using rlwe::KeyLabel;
using rlwe::KeyShape;
using rlwe::SwitchKey;

Header header_of(ObjectType type, const Params& params, const rlwe::KeyId& id,
                 std::uint64_t payload) {
  Header h;
  h.type = type;
  h.params_hash = hash_bytes(params.hash());
  h.key = id;
  h.payload_bytes = payload;
  return h;
}

void require_same_params(const Constants& constants, const std::string& hash) {
  if (hash == constants.params().hash()) return;
  throw ContextError("io.write", "a key of parameters " + hash.substr(0, 16),
                     "one of the context's parameters", "save it with its own context");
}

// Fields: kind, galois, level, seed. The level says which band a key is for.
constexpr std::size_t kEntryHeadBytes = 1 + 4 + 4 + 32;

struct EntryHead {
  KeyLabel label;
  int level = 0;
  std::array<std::uint8_t, 32> seed{};
  KeyShape shape;
};

EntryHead read_entry(Decoder& metadata, const Constants& constants) {
  EntryHead e;
  const std::uint8_t kind = metadata.u8();
  if (kind > static_cast<std::uint8_t>(KeyKind::OverRaise)) {
    refuse("key kind " + std::to_string(kind), "a kind of version 1");
  }
  e.label.kind = static_cast<KeyKind>(kind);
  e.label.galois = metadata.u32();
  const std::uint32_t level = metadata.u32();
  metadata.raw(e.seed);
  if (level > static_cast<std::uint32_t>(constants.params().top_level()) ||
      (e.label.kind != KeyKind::Galois && e.label.kind != KeyKind::OverRaise &&
       e.label.galois != 1)) {
    refuse(e.label.str() + " of level " + std::to_string(level), "a key of these parameters");
  }
  e.level = static_cast<int>(level);
  e.label = e.label.at(constants.params(), e.level);
  try {
    e.shape = rlwe::key_shape(constants, e.label, e.level);
  } catch (const KeyError& error) {
    refuse(error.what(), "a key of these parameters");
  }
  return e;
}

// Writes header and metadata.
Writer begin_keys(Sink& sink, const Constants& constants, const rlwe::KeyId& id,
                  std::span<const KeyEntry> keys) {
  Encoder metadata;
  std::uint64_t payload = 0;
  metadata.u32(static_cast<std::uint32_t>(keys.size()));
  for (const KeyEntry& e : keys) {
    metadata.u8(static_cast<std::uint8_t>(e.label.kind));
    metadata.u32(e.label.galois);
    metadata.u32(static_cast<std::uint32_t>(e.level));
    metadata.raw(e.seed);
    payload += switch_key_bytes(constants.ring(), rlwe::key_shape(constants, e.label, e.level));
  }
  return {sink, header_of(ObjectType::EvaluationKeys, constants.params(), id, payload), metadata};
}

Basis public_basis(const Constants& constants) {
  const Params& params = constants.params();
  return constants.key_basis(params.top_level()).without(params.aux_basis());
}

}  // namespace

std::uint64_t switch_key_bytes(const Ring& ring, const KeyShape& shape) {
  return shape.digits.size() * payload_bytes(ring, shape.basis);
}

void write_switch_key(Writer& writer, Queue& queue, const SwitchKey& key) {
  for (const auto& pair : key.digits) write_poly(writer, queue, pair[0].view);
}

SwitchKey read_switch_key(Reader& reader, Queue& queue, const Ring& ring, const KeyLabel& label,
                          int level, const KeyShape& shape,
                          const std::array<std::uint8_t, 32>& seed) {
  SwitchKey key{label, level, shape.digits, {}, seed};
  for (const int digit : shape.digits) {
    Poly b = read_poly(reader, queue, ring, shape.basis);
    key.digits.push_back({std::move(b), expand_poly(queue, ring, shape.basis, seed,
                                                    static_cast<std::uint64_t>(digit))});
  }
  return key;
}

void save_keys(Sink& sink, const Constants& constants, Queue& queue, const EvaluationKeys& keys) {
  require_same_params(constants, keys.params_hash());
  std::vector<KeyEntry> entries;
  for (const KeyLabel& label : keys.labels()) {
    const SwitchKey& key = keys.get(label, 0);
    entries.push_back({label, key.level, key.seed});
  }
  Writer writer = begin_keys(sink, constants, keys.id(), entries);
  for (const KeyEntry& e : entries) write_switch_key(writer, queue, keys.get(e.label, 0));
  writer.finish();
}

void save_keys(Sink& sink, const Constants& constants, Queue& queue, const rlwe::KeyId& id,
               std::span<const KeyEntry> keys,
               const std::function<SwitchKey(const KeyEntry&)>& make) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (keys[i - 1].label < keys[i].label) continue;
    throw ValueError("io.write", keys[i].label.str() + " behind " + keys[i - 1].label.str(),
                     "increasing labels", "sort the keys, and ask for each once");
  }
  Writer writer = begin_keys(sink, constants, id, keys);
  if (writer.skipped()) return;
  for (const KeyEntry& e : keys) write_switch_key(writer, queue, make(e));
  writer.finish();
}

std::shared_ptr<EvaluationKeys> load_keys(Source& source, const Constants& constants,
                                          Queue& queue) {
  Reader reader(source, ObjectType::EvaluationKeys);
  reader.require_params(constants.params());
  Decoder metadata = reader.metadata();
  std::vector<EntryHead> entries;
  std::uint64_t payload = 0;
  const std::uint32_t count = metadata.count(kEntryHeadBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    entries.push_back(read_entry(metadata, constants));
    payload += switch_key_bytes(constants.ring(), entries.back().shape);
    reader.require_room(payload);
    if (i > 0 && !(entries[i - 1].label < entries[i].label)) {
      refuse("keys out of order", "increasing labels");
    }
  }
  metadata.finish();
  reader.require_payload(payload);
  auto keys = std::make_shared<EvaluationKeys>(reader.header().key, constants.params().hash());
  for (const EntryHead& e : entries) {
    keys->insert(
        read_switch_key(reader, queue, constants.ring(), e.label, e.level, e.shape, e.seed));
  }
  reader.finish();
  return keys;
}

void save_public_key(Sink& sink, const Constants& constants, Queue& queue,
                     const rlwe::PublicKey& key) {
  require_same_params(constants, key.params_hash);
  Encoder metadata;
  metadata.raw(key.seed);
  const std::uint64_t payload = payload_bytes(constants.ring(), public_basis(constants));
  Writer writer(sink, header_of(ObjectType::PublicKey, constants.params(), key.id, payload),
                metadata);
  write_poly(writer, queue, key.parts[0].view);
  writer.finish();
}

rlwe::PublicKey load_public_key(Source& source, const Constants& constants, Queue& queue) {
  Reader reader(source, ObjectType::PublicKey);
  reader.require_params(constants.params());
  const Basis basis = public_basis(constants);
  rlwe::PublicKey key{reader.header().key, constants.params().hash(), {}, {}};
  Decoder metadata = reader.metadata();
  metadata.raw(key.seed);
  metadata.finish();
  reader.require_payload(payload_bytes(constants.ring(), basis));
  key.parts[0] = read_poly(reader, queue, constants.ring(), basis);
  key.parts[1] = expand_poly(queue, constants.ring(), basis, key.seed, 0);
  reader.finish();
  return key;
}

}  // namespace latticino::io
