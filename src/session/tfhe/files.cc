// Saving and loading of TFHE.
#include "io/tfhe_files.h"

#include "math/errors.h"
#include "session/file_options.h"
#include "session/note.h"
#include "session/tfhe/owner.h"
#include "session/tfhe/state.h"

namespace latticino {
namespace session {
namespace {

std::string note_of(const TfheArrayState& x) {
  return "{\"shape\": [" + std::to_string(x.size()) + "], \"dtype\": \"" + TfheType{x.bits}.name() +
         "\"}";
}

TfheType type_of(const Note& note, const TfheParams& params) {
  const std::string name = note.text("dtype");
  for (int bits = -params.plain_bits(); bits <= 64; ++bits) {
    const TfheType type{bits};
    if (type.name() != name) continue;
    try {
      require_type(params, type, "load");
      return type;
    } catch (const ParameterError&) {
      break;
    }
  }
  Note::refuse();
}

// The note comes from outside, so every field of it is checked. Arrays of more dimensions, which
// Python writes, are loaded row by row.
TfheArray array_of(const std::shared_ptr<TfheContextState>& context, io::TfheCiphertexts loaded) {
  const Note note = Note::read(loaded.note);
  const TfheParams& params = context->params();
  const int bits = type_of(note, params).bits, block = std::max(params.literal().message_bits, 1);
  const std::size_t size = size_of(note.shape("shape"));
  const std::uint64_t most = most_of(std::min(bits, block));
  bool fits = loaded.batches.size() == static_cast<std::size_t>(std::max(bits / block, 1));
  for (const tfhe::Ciphertext& x : loaded.batches) {
    fits = fits && x.size() == size && x.largest <= most &&
           (x.encoding == tfhe::Encoding::Full) == (bits < 0);
  }
  if (!fits) {
    throw FileError("load",
                    std::to_string(size) + " values of " + TfheType{bits}.name() + " for " +
                        std::to_string(loaded.batches.size()) + " batches",
                    "a shape that fits them", "use files of this library");
  }
  for (const tfhe::Ciphertext& x : loaded.batches) context->keys().admit("load", x.key.str());
  return tfhe_array(context, std::move(loaded.batches), bits);
}

}  // namespace
}  // namespace session

void save_array(const std::string& path, const TfheArray& x, const FileSigner& sign) {
  const session::TfheArrayState& s = session::state(x);
  session::write_signed(path, sign, [&](io::Sink& sink) {
    io::save_ciphertexts(sink, s.parts(), session::note_of(s));
  });
}

TfheArray load_array(const std::string& path, const TfheContext& context,
                     const FileVerifier& verify) {
  session::VerifiedFile source(path, verify);
  return session::array_of(context.state(),
                           io::load_tfhe_ciphertexts(source, context.state()->host()->native));
}

std::vector<std::uint8_t> to_bytes(const TfheArray& x, const FileSigner& sign) {
  const session::TfheArrayState& s = session::state(x);
  io::MemorySink sink;
  sink.signer = session::signer_of(sign);
  io::save_ciphertexts(sink, s.parts(), session::note_of(s));
  return {sink.bytes().begin(), sink.bytes().end()};
}

TfheArray array_from_bytes(std::span<const std::uint8_t> bytes, const TfheContext& context,
                           const FileVerifier& verify) {
  io::MemorySource source(bytes);
  source.verifier = session::verifier_of(verify);
  return session::array_of(context.state(),
                           io::load_tfhe_ciphertexts(source, context.state()->host()->native));
}

void save_server_keys(const std::string& path, const TfheServerKeys& keys, const FileSigner& sign) {
  const auto bundle = keys.state()->bundle();
  session::write_signed(
      path, sign, [&](io::Sink& sink) { io::save_keys(sink, *bundle->context, *bundle->keys); });
}

TfheServerKeys load_server_keys(const std::string& path, const TfheContext& context,
                                const FileVerifier& verify) {
  const auto& host = context.state()->host();
  session::VerifiedFile source(path, verify);
  auto bundle = std::make_shared<session::TfheBundle>();
  bundle->context = host->native;
  bundle->keys = io::load_server_keys(source, *host->native);
  return TfheServerKeys(std::make_shared<session::TfheStoredKeys>(host, std::move(bundle)));
}

void save_secret_key(const std::string& path, const TfheClient& client, const DeriveKey& derive) {
  session::save_secret(path, client.owner()->secret(), derive);
}

TfheClient load_client(const std::string& path, const TfheContext& context,
                       const DeriveKey& derive) {
  const session::TfheContextPtr& native = context.state()->host()->native;
  auto owner = session::load_secret(
      path, io::Scheme::Tfhe, derive, [&](io::Source& source, std::span<const std::uint8_t> key) {
        return std::make_shared<session::TfheOwner>(
            native, io::load_tfhe_secret_key(source, native->shared_params(), key));
      });
  context.state()->keys().admit("client", owner->key_id());
  return {context, std::move(owner)};
}

}  // namespace latticino
