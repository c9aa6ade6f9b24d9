// Parameters, secret keys and server keys of TFHE.
#include <algorithm>
#include <utility>

#include "crypto/secure_memory.h"
#include "io/codec/lwe.h"
#include "io/codec/poly.h"
#include "io/codec/secret.h"
#include "io/codec/server_keys.h"
#include "io/secret_stream.h"
#include "io/tfhe_files.h"
#include "math/errors.h"

namespace latticino::io {
namespace {

constexpr std::size_t kLongestText = 1 << 12;
constexpr std::uint32_t kRowsPerRecord = 1024;      // rows of a bootstrapping key in one record
constexpr std::uint32_t kVersionWithPublicKey = 3;  // the public key adds a seed and a body

std::uint64_t public_key_bytes(const tfhe::Context& context) {
  return std::uint64_t{sizeof(std::uint32_t)} * static_cast<std::uint64_t>(context.ring().n()) *
         static_cast<std::uint64_t>(context.ring().prime_count());
}

Header header_of(ObjectType type, const TfheParams& params) {
  Header h;
  h.type = type;
  h.scheme = Scheme::Tfhe;
  h.params_hash = hash_bytes(params.hash());
  return h;
}

// The number of rows of the bootstrapping key, of k + 1 polynomials each.
std::uint32_t rows_of(const tfhe::ServerKeys& keys, const TfheParams& params) {
  return keys.bootstrap.view.count / (static_cast<std::uint32_t>(params.glwe_dimension()) + 1);
}

}  // namespace

std::uint64_t server_keys_bytes(const tfhe::Context& context) {
  const TfheParams& params = context.params();
  const auto parts = static_cast<std::uint64_t>(params.glwe_dimension()) + 1;
  return params.bootstrap_key_bytes() / parts +
         std::uint64_t{sizeof(std::uint32_t)} * static_cast<std::uint64_t>(params.big_dimension()) *
             static_cast<std::uint64_t>(params.literal().key_switch.levels);
}

void write_server_keys(Writer& writer, const tfhe::Context& context, const tfhe::ServerKeys& keys) {
  const std::uint32_t parts = static_cast<std::uint32_t>(context.params().glwe_dimension()) + 1;
  for (std::uint32_t row = 0; row < rows_of(keys, context.params()); ++row) {
    write_poly(writer, context.queue(), keys.bootstrap.view[row * parts]);
  }
  write_lwe(writer, context.queue(), keys.key_switch.view, true);
}

void read_server_keys(Reader& reader, const tfhe::Context& context, tfhe::ServerKeys& keys) {
  const int k = context.params().glwe_dimension();
  const std::uint32_t parts = static_cast<std::uint32_t>(k) + 1;
  const std::uint32_t rows = rows_of(keys, context.params());
  for (std::uint32_t row = 0; row < rows; ++row) {
    read_poly(reader, context.queue(), keys.bootstrap.view[row * parts]);
  }
  for (std::uint32_t row = 0; row < rows; row += kRowsPerRecord) {
    context.queue().submit(
        tfhe::bootstrap_masks(keys, k, row, std::min(kRowsPerRecord, rows - row)));
  }
  read_lwe(reader, context.queue(), keys.key_switch.view, keys.key_switch_seed);
}

void save_params(Sink& sink, const TfheParams& params) {
  Encoder metadata;
  metadata.text(params.canonical_text());
  Writer(sink, header_of(ObjectType::Params, params), metadata).finish();
}

std::shared_ptr<const TfheParams> load_tfhe_params(Source& source) {
  Reader reader(source, ObjectType::Params, Scheme::Tfhe);
  reader.require_payload(0);
  Decoder metadata = reader.metadata();
  const std::string text = metadata.text(kLongestText);
  metadata.finish();
  reader.finish();
  auto params = TfheParams::check(parse_tfhe_params(text));
  reader.require_params(*params);
  return params;
}

void save_keys(Sink& sink, const tfhe::Context& context, const tfhe::ServerKeys& keys) {
  const TfheParams& params = context.params();
  if (keys.params_hash != params.hash()) {
    throw ContextError("io.write", "keys of parameters " + keys.params_hash.substr(0, 16),
                       "keys of the context's parameters", "save them with their own context");
  }
  Encoder metadata;
  metadata.raw(keys.bootstrap_seed);
  metadata.raw(keys.key_switch_seed);
  Header header = header_of(ObjectType::EvaluationKeys, params);
  header.key = keys.id;
  header.payload_bytes = server_keys_bytes(context);
  if (keys.public_key != nullptr) {
    header.version = kVersionWithPublicKey;
    metadata.raw(keys.public_key->seed);
    header.payload_bytes += public_key_bytes(context);
  }
  Writer writer(sink, header, metadata);
  write_server_keys(writer, context, keys);
  if (keys.public_key != nullptr) {
    write_poly(writer, context.queue(), keys.public_key->polys.view[0]);
  }
  writer.finish();
}

std::shared_ptr<tfhe::ServerKeys> load_server_keys(Source& source, const tfhe::Context& context) {
  const TfheParams& params = context.params();
  Reader reader(source, ObjectType::EvaluationKeys, Scheme::Tfhe);
  reader.require_params(params);
  Decoder metadata = reader.metadata();
  std::array<std::uint8_t, 32> bootstrap_seed, key_switch_seed;
  metadata.raw(bootstrap_seed);
  metadata.raw(key_switch_seed);
  const bool with_public = reader.header().version >= kVersionWithPublicKey;
  tfhe::PublicKey public_key;
  if (with_public) metadata.raw(public_key.seed);
  metadata.finish();
  reader.require_payload(server_keys_bytes(context) +
                         (with_public ? public_key_bytes(context) : 0));
  auto keys = tfhe::allocate_server_keys(context, reader.header().key);
  keys->bootstrap_seed = bootstrap_seed;
  keys->key_switch_seed = key_switch_seed;
  read_server_keys(reader, context, *keys);
  if (with_public) {
    public_key.polys = tfhe::allocate_public_key(context).polys;
    read_poly(reader, context.queue(), public_key.polys.view[0]);
    tfhe::expand_masks(context, public_key);
    keys->public_key = std::make_shared<const tfhe::PublicKey>(std::move(public_key));
  }
  reader.finish();
  return keys;
}

void save_secret_key(Sink& sink, const tfhe::SecretKey& key, const SecretSeal* seal) {
  crypto::LockedVector<std::uint8_t> bytes(key.lwe().size() + key.glwe().size());
  std::copy(key.lwe().begin(), key.lwe().end(), bytes.begin());
  std::copy(key.glwe().begin(), key.glwe().end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(key.lwe().size()));
  write_secret(sink, Scheme::Tfhe, key, bytes, seal);
}

void save_secret_key(const std::string& path, const tfhe::SecretKey& key, const SecretSeal* seal) {
  write_secret_file(path, [&](Sink& sink) { save_secret_key(sink, key, seal); });
}

tfhe::SecretKey load_tfhe_secret_key(Source& source, std::shared_ptr<const TfheParams> params,
                                     std::span<const std::uint8_t> key) {
  const auto n = static_cast<std::size_t>(params->lwe_dimension());
  const std::size_t all = n + static_cast<std::size_t>(params->big_dimension());
  return read_secret<tfhe::SecretKey>(source, Scheme::Tfhe, std::move(params), n, all, key);
}

}  // namespace latticino::io
