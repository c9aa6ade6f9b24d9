#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/codec/poly.h"
#include "io/codec/server_keys.h"
#include "io/codec/switch_key.h"
#include "io/switch_files.h"
#include "math/errors.h"
#include "switch/matvec.h"

namespace latticino::io {
namespace {

using rlwe::KeyKind;
using rlwe::OneDigitKey;
using switching::MatvecShape;
using switching::SwitchKeys;

Basis ring_key_basis(const SwitchParams& params) {
  return params.lwe_basis().with(params.key_aux());
}

rlwe::KeyShape packing_shape(const switching::Context& context, std::uint32_t galois) {
  return rlwe::key_shape(context.packing(), {KeyKind::Galois, galois}, 0);
}

// The seeds of all ciphertexts, by shape.
using Seeds = std::vector<std::array<std::uint8_t, 32>>;
using MatvecSeeds = std::map<MatvecShape, Seeds>;

Basis matvec_basis(const switching::Context& context, const MatvecShape& shape) {
  return context.params().ckks().basis(switching::plan_matvec(context.params(), shape).level);
}

void encode_shapes(Encoder& metadata, const SwitchKeys& keys) {
  metadata.u32(static_cast<std::uint32_t>(keys.matvec.size()));
  for (const auto& [shape, key] : keys.matvec) {
    metadata.u32(static_cast<std::uint32_t>(shape.rows));
    metadata.u32(static_cast<std::uint32_t>(shape.slots));
    for (const OneDigitKey& pair : key.diagonals) metadata.raw(pair.seed);
  }
}

// Refuses impossible shapes before anything is allocated for them.
MatvecSeeds decode_shapes(Decoder& metadata, const SwitchParams& params) {
  MatvecSeeds out;
  const std::uint32_t count = metadata.count(2 * sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t rows = metadata.u32(), slots = metadata.u32();
    // Numbers from 2^31 on become negative, which no valid shape has.
    const MatvecShape shape{static_cast<int>(rows), static_cast<int>(slots)};
    try {
      Seeds seeds(static_cast<std::size_t>(shape.diagonals(params)));
      for (auto& seed : seeds) metadata.raw(seed);
      if (!out.emplace(shape, std::move(seeds)).second) refuse("a product twice", "it once");
    } catch (const ShapeError&) {
      refuse(
          "a product of " + std::to_string(rows) + " rows in " + std::to_string(slots) + " slots",
          "shapes that the set has");
    }
  }
  return out;
}

std::uint64_t payload_of(const switching::Context& context, const MatvecSeeds& shapes) {
  const SwitchParams& params = context.params();
  const Ring& ring = context.ckks()->ring();
  std::uint64_t bytes = payload_bytes(ring, ring_key_basis(params)) +
                        payload_bytes(ring, params.ckks().encapsulation_basis());
  for (const std::uint32_t g : switching::packing_elements(params)) {
    const rlwe::KeyShape shape = packing_shape(context, g);
    bytes += switch_key_bytes(context.packing().ring(), shape);
  }
  for (const auto& [shape, seeds] : shapes) {
    bytes += seeds.size() * payload_bytes(ring, matvec_basis(context, shape));
  }
  return bytes + server_keys_bytes(*context.tfhe());
}

OneDigitKey read_one_digit(Reader& reader, const switching::Context& context, const Basis& basis,
                           const std::array<std::uint8_t, 32>& seed) {
  const Ring& ring = context.ckks()->ring();
  Poly b = read_poly(reader, context.queue(), ring, basis);
  return {{std::move(b), expand_poly(context.queue(), ring, basis, seed, 0)}, seed};
}

}  // namespace

void save_keys(Sink& sink, const switching::Context& context, const SwitchKeys& keys) {
  const SwitchParams& params = context.params();
  if (keys.params_hash != params.hash()) {
    throw ContextError("io.write", "keys of parameters " + keys.params_hash.substr(0, 16),
                       "keys of the set " + params.name(), "save them with their own context");
  }
  const std::vector<std::uint32_t> elements = switching::packing_elements(params);
  const auto packing = [&](std::uint32_t g) -> const rlwe::SwitchKey& {
    return keys.packing->get({KeyKind::Galois, g}, 0);
  };
  Encoder metadata;
  metadata.raw(keys.tfhe->id.bytes);
  metadata.raw(keys.to_ring.seed);
  metadata.raw(keys.to_sparse.seed);
  metadata.raw(keys.tfhe->bootstrap_seed);
  metadata.raw(keys.tfhe->key_switch_seed);
  for (const std::uint32_t g : elements) metadata.raw(packing(g).seed);
  MatvecSeeds shapes;
  for (const auto& [shape, key] : keys.matvec) shapes[shape].resize(key.diagonals.size());
  if (!shapes.empty()) encode_shapes(metadata, keys);
  Header header;
  if (!shapes.empty()) header.version = 2;
  header.type = ObjectType::EvaluationKeys;
  header.scheme = Scheme::Switching;
  header.params_hash = hash_bytes(params.hash());
  header.key = keys.ckks_id;
  header.payload_bytes = payload_of(context, shapes);
  Writer writer(sink, header, metadata);
  write_poly(writer, context.queue(), keys.to_ring.parts[0].view);
  write_poly(writer, context.queue(), keys.to_sparse.parts[0].view);
  for (const std::uint32_t g : elements) write_switch_key(writer, context.queue(), packing(g));
  write_server_keys(writer, *context.tfhe(), *keys.tfhe);
  for (const auto& [shape, key] : keys.matvec) {
    for (const OneDigitKey& pair : key.diagonals) {
      write_poly(writer, context.queue(), pair.parts[0].view);
    }
  }
  writer.finish();
}

std::shared_ptr<SwitchKeys> load_switch_keys(Source& source, const switching::Context& context) {
  const SwitchParams& params = context.params();
  Reader reader(source, ObjectType::EvaluationKeys, Scheme::Switching);
  reader.require_params(params);
  rlwe::KeyId inner;
  std::array<std::uint8_t, 32> to_ring, to_sparse, bootstrap, key_switch;
  Decoder metadata = reader.metadata();
  metadata.raw(inner.bytes);
  if (inner == rlwe::KeyId{}) refuse("a zero id of the table ring's key", "the id of a key");
  for (auto* seed : {&to_ring, &to_sparse, &bootstrap, &key_switch}) metadata.raw(*seed);
  const std::vector<std::uint32_t> elements = switching::packing_elements(params);
  std::vector<std::array<std::uint8_t, 32>> seeds(elements.size());
  for (auto& seed : seeds) metadata.raw(seed);
  MatvecSeeds shapes;
  if (reader.header().version >= 2) shapes = decode_shapes(metadata, params);
  metadata.finish();
  reader.require_payload(payload_of(context, shapes));

  auto keys = std::make_shared<SwitchKeys>();
  keys->ckks_id = reader.header().key;
  keys->params_hash = params.hash();
  keys->to_ring = read_one_digit(reader, context, ring_key_basis(params), to_ring);
  keys->to_sparse = read_one_digit(reader, context, params.ckks().encapsulation_basis(), to_sparse);
  auto packing = std::make_shared<rlwe::EvaluationKeys>(inner, params.packing()->hash());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    packing->insert(read_switch_key(reader, context.queue(), context.packing().ring(),
                                    {KeyKind::Galois, elements[i]}, 0,
                                    packing_shape(context, elements[i]), seeds[i]));
  }
  keys->packing = std::move(packing);
  const auto server = tfhe::allocate_server_keys(*context.tfhe(), inner);
  server->bootstrap_seed = bootstrap;
  server->key_switch_seed = key_switch;
  read_server_keys(reader, *context.tfhe(), *server);
  keys->tfhe = server;
  for (const auto& [shape, pairs] : shapes) {
    switching::MatvecKey& key = keys->matvec[shape];
    const Basis basis = matvec_basis(context, shape);
    for (const auto& seed : pairs) {
      key.diagonals.push_back(read_one_digit(reader, context, basis, seed));
    }
  }
  reader.finish();
  return keys;
}

}  // namespace latticino::io
