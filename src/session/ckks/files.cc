// Saving and loading of CKKS, with notes that describe arrays.
#include <cmath>
#include <filesystem>

#include "io/switch_files.h"
#include "math/errors.h"
#include "math/text.h"
#include "session/ckks/state.h"
#include "session/file_options.h"
#include "session/note.h"
#include "session/owner.h"

namespace latticino {
namespace session {
namespace {

// The file of a part of a bundle, next to the bundle's own.
std::string file_beside(std::string path, const std::string& part) {
  return std::move(path) + "." + part;
}

std::string exact(double x) { return formatted("%.17g", x); }

std::string note_of(const ArrayState& x) {
  // If the range comes from a sample, only the range is written. The sample stays in this process.
  const Range r = x.known().widest();
  const std::string error = formatted("%.6g", x.known().error());
  std::string out = "{\"shape\": [";
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    out += (i ? ", " : "") + std::to_string(x.shape[i]);
  }
  out += std::string("], \"clean\": ") + (x.clean() ? "true" : "false") + ", \"error\": " + error;
  out += std::string(", \"range\": {\"claim\": \"") + name_of(r.basis()) +
         "\", \"random\": " + (r.random_like ? "true" : "false") + ", \"numbers\": [";
  const double numbers[] = {r.re.low, r.re.high, r.im.low, r.im.high, r.bound, r.rms};
  for (int i = 0; i < 6; ++i) out += (i ? ", " : "") + exact(numbers[i]);
  return out + "]}}";
}

// The range that a file states; before version 3 there was none.
Range range_of(const std::optional<Note>& stated) {
  if (!stated) return Range::assumed(false);
  const std::vector<double> x = stated->numbers("numbers", 6);
  const std::string claim = stated->text("claim");
  const bool calibrated = claim == "calibrated";
  if ((claim != "assumed" && claim != "declared" && !calibrated) || x[4] < 0 || x[5] < 0) {
    Note::refuse();
  }
  try {
    Range out = Range::declared({x[0], x[1]}, {x[2], x[3]}, 0, stated->flag("random"));
    out.claim = claim == "assumed" ? Claim::Assumed : Claim::Declared;
    out.of_a_sample = calibrated;
    out.bound = std::min(out.bound, x[4]);
    out.rms = std::min(out.bound, x[5]);
    return out;
  } catch (const ValueError&) {
    Note::refuse();
  }
}

// The note comes from outside, so every field of it is checked.
Array array_of(const ContextStatePtr& context, io::Ciphertexts loaded) {
  const Note note = Note::read(loaded.note);
  if (loaded.final) {
    throw UnsupportedError("load", "a final answer, which is for decryption alone",
                           "an array to compute with",
                           "decrypt it in Python, or send the array itself");
  }
  if (note.part("array")) {
    throw UnsupportedError("load", "an array whose values do not lie row by row", "one that does",
                           "save x.contiguous() in Python");
  }
  ArrayState out{context, {std::move(loaded.ciphertexts), {}, {}}, note.shape("shape")};
  const Parts& parts = out.contents.parts;
  const double error = note.number("error");
  Known& known = out.contents.known;
  known = Known::fresh(range_of(note.part("range")), error);
  if (!note.flag("clean"))
    out.contents.rest = UnusedSlots::of(UnusedSlots::Kind::Filler, known.reach());
  const std::size_t slots = parts.empty() ? 0 : static_cast<std::size_t>(parts[0].slots);
  bool fits = slots > 0 && error >= 0 && (out.size() + slots - 1) / slots == parts.size();
  for (const ckks::Ciphertext& part : parts) {
    fits = fits && part.slots == parts[0].slots;
  }
  if (!fits) {
    throw FileError(
        "load",
        "shape " + text_of(out.shape) + " for " + std::to_string(parts.size()) + " ciphertexts",
        "a shape that fits them", "use files of this library");
  }
  for (const ckks::Ciphertext& part : parts) context->keys().admit("load", part.key.str());
  return Array(std::make_shared<const ArrayState>(std::move(out)));
}

// Takes away what an older bundle left, where it is a file.
void remove_old(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() == fs::file_type::regular && fs::remove(path, error)) return;
  throw FileError("save_server_keys", path, "no file of another bundle there",
                  "remove it, or save to another path");
}

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() !=
         std::filesystem::file_type::not_found;
}

std::uint32_t version_of(const ArrayState& x) {
  return x.known().widest().basis() == Claim::Calibrated ? io::kCalibratedVersion
                                                         : io::kRangeVersion;
}

}  // namespace
}  // namespace session

void save_parameters(const std::string& path, const ParameterSet& parameters,
                     const FileSigner& sign) {
  session::write_signed(path, sign,
                        [&](io::Sink& sink) { io::save_params(sink, *parameters.native()); });
}

ParameterSet load_parameters(const std::string& path, const FileVerifier& verify) {
  session::VerifiedFile source(path, verify);
  return ParameterSet(io::load_params(source));
}

void save_array(const std::string& path, const Array& x, const FileSigner& sign) {
  const session::ArrayState& s = session::state(x);
  session::write_signed(path, sign, [&](io::Sink& sink) {
    io::save_ciphertexts(sink, s.parts(), session::note_of(s), session::version_of(s));
  });
}

Array load_array(const std::string& path, const Context& context, const FileVerifier& verify) {
  session::VerifiedFile source(path, verify);
  return session::array_of(context.state(),
                           io::load_ciphertexts(source, context.state()->host()->native));
}

std::vector<std::uint8_t> to_bytes(const Array& x, const FileSigner& sign) {
  const session::ArrayState& s = session::state(x);
  io::MemorySink sink;
  sink.signer = session::signer_of(sign);
  io::save_ciphertexts(sink, s.parts(), session::note_of(s), session::version_of(s));
  return {sink.bytes().begin(), sink.bytes().end()};
}

Array array_from_bytes(std::span<const std::uint8_t> bytes, const Context& context,
                       const FileVerifier& verify) {
  io::MemorySource source(bytes);
  source.verifier = session::verifier_of(verify);
  return session::array_of(context.state(),
                           io::load_ciphertexts(source, context.state()->host()->native));
}

void save_server_keys(const std::string& path, const ServerKeys& keys, const FileSigner& sign) {
  const session::Host& host = *keys.state()->host();
  const ckks::Context& native = *host.native;
  const auto bundle = keys.state()->bundle();
  session::write_signed(path, sign, [&](io::Sink& sink) {
    io::save_keys(sink, native.constants(), native.queue(), *bundle->keys);
  });
  for (const std::string& set : host.switch_sets()) {
    const std::string beside = session::file_beside(path, set);
    const auto at = bundle->switching.find(set);
    if (at == bundle->switching.end()) {
      session::remove_old(beside);
      continue;
    }
    session::write_signed(beside, sign, [&](io::Sink& sink) {
      io::save_keys(sink, *at->second.first, *at->second.second);
    });
  }
  if (bundle->public_key == nullptr) return session::remove_old(path + ".public");
  session::write_signed(path + ".public", sign, [&](io::Sink& sink) {
    io::save_public_key(sink, native.constants(), native.queue(), *bundle->public_key);
  });
}

ServerKeys load_server_keys(const std::string& path, const Context& context,
                            const FileVerifier& verify) {
  const std::shared_ptr<session::Host>& host = context.state()->host();
  const ckks::Context& native = *host->native;
  auto bundle = std::make_shared<session::CkksBundle>();
  bundle->context = host->native;
  {
    session::VerifiedFile source(path, verify);
    bundle->keys = io::load_keys(source, native.constants(), native.queue());
  }
  const auto require_own = [&](const rlwe::KeyId& id) {
    if (id == bundle->keys->id()) return;
    throw KeyError("load_server_keys",
                   "keys of " + id.str() + " beside a bundle of " + bundle->keys->id().str(),
                   "files of one secret key", "bring over all files of the bundle");
  };
  if (session::is_there(path + ".public")) {
    session::VerifiedFile source(path + ".public", verify);
    bundle->public_key = std::make_shared<rlwe::PublicKey>(
        io::load_public_key(source, native.constants(), native.queue()));
    require_own(bundle->public_key->id);
  }
  for (const std::string& set : host->switch_sets()) {
    const std::string beside = session::file_beside(path, set);
    if (!session::is_there(beside)) continue;
    session::VerifiedFile source(beside, verify);
    const session::SwitchContextPtr switching = host->switching(set);
    bundle->switching[set] = {switching, io::load_switch_keys(source, *switching)};
    require_own(bundle->switching[set].second->ckks_id);
  }
  return ServerKeys(std::make_shared<session::StoredKeys>(host, std::move(bundle)));
}

void save_secret_key(const std::string& path, const Client& client, const DeriveKey& derive) {
  session::save_secret(path, client.owner()->secret(), derive);
}

Client load_client(const std::string& path, const Context& context, const DeriveKey& derive) {
  const session::CkksContextPtr& native = context.state()->host()->native;
  auto owner = session::load_secret(
      path, io::Scheme::Ckks, derive, [&](io::Source& source, std::span<const std::uint8_t> key) {
        return std::make_shared<session::Owner>(
            native, io::load_secret_key(source, native->shared_params(), key));
      });
  context.state()->keys().admit("client", owner->key_id());
  return {context, std::move(owner)};
}

}  // namespace latticino
