#include "parsers/parsers.h"

#include <stdexcept>

#include "backend/tuning.h"
#include "io/bundle_file.h"
#include "io/final_ciphertext.h"
#include "io/switch_files.h"
#include "io/tfhe_files.h"
#include "math/errors.h"
#include "session/note.h"
#include "support/tfhe_support.h"
#include "switch/client.h"

namespace latticino::fuzz {
namespace {

using io::Sink;
using io::Source;
using test::Bytes;
using test::FileWorld;
using test::saved;

using Seeds = std::vector<Bytes>;

// ---- the smallest sets -----------------------------------------------------------------------

FileWorld& ckks() {
  static FileWorld w(preset("test-n10-boot-insecure"));
  return w;
}

std::shared_ptr<const TfheParams> tiny_tfhe() {
  TfheLiteral x = tfhe_preset("test-tfhe-2-2-tiny-insecure")->literal();
  x.name = "fuzz-tfhe-insecure";
  x.lwe_dimension = 1;
  return TfheParams::check(std::move(x));
}

test::TfheWorld& tfhe_world() {
  static test::TfheWorld w(tiny_tfhe());
  return w;
}

const switching::Context& both() {
  static const auto kContext = [] {
    SwitchLiteral x = switch_preset("test-switch-n10-insecure")->literal();
    x.name = "fuzz-switch-insecure";
    x.lwe_dimension = 1;
    return switching::Context::create(SwitchParams::check(ckks().params, x), ckks().context);
  }();
  return *kContext;
}

// ---- texts -----------------------------------------------------------------------------------

std::string text_of(Source& source) {
  std::string text(source.remaining(), '\0');
  source.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

void parse_ckks_text(Source& source) { Params::check(parse_params(text_of(source))); }
void parse_tfhe_text(Source& source) { TfheParams::check(parse_tfhe_params(text_of(source))); }
void parse_tuning(Source& source) { Tuning::parse(text_of(source), "a table"); }
void parse_note(Source& source) {
  const session::Note note = session::Note::read(text_of(source));
  note.shape("shape");
  note.number("error");
  if (const auto range = note.part("range")) range->numbers("numbers", 6);
}

Seeds ckks_texts() {
  Seeds out;
  for (const char* name :
       {"test-n10-leveled-insecure", "test-n10-boot-insecure", "test-n10-bands-insecure",
        "test-n10-sr-insecure", "test-n10-bitpacker-insecure", "test-n10-d36-w28-free-insecure",
        "n16-d40-boot-v1"}) {
    out.push_back(bytes_of(preset(name)->canonical_text()));
  }
  return out;
}

Seeds tfhe_texts() {
  Seeds out;
  for (const char* name : {"test-tfhe-gates-insecure", "test-tfhe-group3-insecure",
                           "test-tfhe-2-2-tiny-insecure", "test-tfhe-ternary-insecure"}) {
    out.push_back(bytes_of(tfhe_preset(name)->canonical_text()));
  }
  return out;
}

Seeds tunings() {
  return {
      bytes_of("latticino tuning 1\narch 90\n# measured\nconvert_tile 16  12 47 4 0 = 3\n"
               "key_inner 16  4 59 1 1 = 2\nblind_rotate 11  2 2 17 64 = 1\n"
               "transform 16  0 47 2 0 = 5\n")};
}

Seeds notes() {
  return {bytes_of(R"({"shape": [8, 2], "clean": true, "error": 0.5})"),
          bytes_of(R"({"shape": [], "clean": false, "error": 1.5e-7, "range": {"claim": "declared",
                     "random": false, "numbers": [-1, 1, 0, 0, 1, 0.25]}, "other": [null, {"a": "\u0041"}]})"),
          bytes_of(R"({"shape": [3], "error": 0, "dtype": "u2"})")};
}

// ---- containers ------------------------------------------------------------------------------

Seeds params_files() {
  Seeds out;
  for (const char* name : {"test-n10-leveled-insecure", "test-n10-boot-insecure"}) {
    out.push_back(saved([&](Sink& s) { save_params(s, *preset(name)); }));
  }
  return out;
}

Seeds ciphertext_files() {
  FileWorld& w = ckks();
  std::vector<ckks::Ciphertext> x{w.encrypt(w.message(), 0), w.encrypt(w.message(), 0)};
  const std::string note = R"({"shape": [8], "clean": true, "error": 0.5})";
  Seeds out{saved([&](Sink& s) { save_ciphertexts(s, std::span(x).first(1), note); })};
  x[1].seed.reset();
  out.push_back(saved([&](Sink& s) { save_ciphertexts(s, std::span(x).last(1), "", 3); }));
  x[1].parts.push_back(x[1].parts[0]);
  out.push_back(saved([&](Sink& s) { save_ciphertexts(s, x, note); }));
  return out;
}

// Final answers of full and of few slots, with all bits and with low bits left out.
Seeds answer_files() {
  FileWorld& w = ckks();
  std::vector<ckks::Ciphertext> x{w.encrypt(w.message(), 0), w.encrypt(w.message(), 0)};
  x[1].slots = 2;
  const std::string note = R"({"shape": [8], "clean": true, "error": 0.5})";
  return {saved([&](Sink& s) { io::save_final(s, std::span(x).first(1), note, {}); }),
          saved([&](Sink& s) {
            io::save_final(s, std::span(x).last(1), "", {3, 40, 32});
          }),
          saved([&](Sink& s) {
            io::save_final(s, x, note, {1, 20, 10});
          })};
}

Seeds key_files() {
  FileWorld& w = ckks();
  using rlwe::KeyKind;
  const rlwe::KeyRequest requests[] = {{},
                                       {{{KeyKind::Relinearize, 1}, 0}},
                                       {{{KeyKind::DenseToSparse, 1}, 0}},
                                       {{{KeyKind::Galois, 5}, 0}, {{KeyKind::Galois, 2047}, 0}},
                                       {{{KeyKind::SparseToDense, 1}, 0}}};
  Seeds out;
  for (const rlwe::KeyRequest& request : requests) {
    const auto keys = w.keys(request);
    out.push_back(saved([&](Sink& s) { save_keys(s, w.constants(), w.queue(), *keys); }));
  }
  return out;
}

Seeds public_key_files() {
  FileWorld& w = ckks();
  const auto key = rlwe::make_public_key(w.constants(), w.queue(), w.secret, w.random);
  return {saved([&](Sink& s) { save_public_key(s, w.constants(), w.queue(), key); })};
}

// The key of a passphrase. Its bytes do not matter, as long as sealing the seeds and opening inputs
// use the same.
constexpr std::array<std::uint8_t, crypto::kSealKeyBytes> kSealKey = {1, 2, 3};

template <class SecretKey>
Seeds secret_files_of(const SecretKey& secret) {
  const io::SecretSeal seal{{10, 1, 1, {}}, kSealKey};
  return {saved([&](Sink& s) { save_secret_key(s, secret); }),
          saved([&](Sink& s) { save_secret_key(s, secret, &seal); })};
}

// Does what the Python package does: it reads how the seal was made, then the key that opens it.
template <class Load>
void parse_secret(Source& source, io::Scheme scheme, Load load) {
  Bytes file(source.remaining());
  source.read(file);
  io::MemorySource head(file), whole(file);
  const bool sealed = io::secret_key_seal(head, scheme).has_value();
  load(whole, sealed ? std::span<const std::uint8_t>(kSealKey) : std::span<const std::uint8_t>());
}

void parse_ckks_secret(Source& source) {
  parse_secret(source, io::Scheme::Ckks, [](Source& s, std::span<const std::uint8_t> key) {
    io::load_secret_key(s, ckks().params, key);
  });
}
void parse_tfhe_secret(Source& source) {
  parse_secret(source, io::Scheme::Tfhe, [](Source& s, std::span<const std::uint8_t> key) {
    io::load_tfhe_secret_key(s, tfhe_world().params, key);
  });
}

Seeds secret_files() { return secret_files_of(ckks().secret); }

Seeds tfhe_params_files() {
  return {saved([](Sink& s) { save_params(s, *tfhe_world().params); })};
}

Seeds tfhe_ciphertext_files() {
  test::TfheWorld& w = tfhe_world();
  std::vector<tfhe::Ciphertext> x{w.encrypt({1, 2, 3}, tfhe::Encoding::Padded),
                                  w.encrypt({15}, tfhe::Encoding::Full)};
  const std::string note = R"({"shape": [3], "dtype": "u2"})";
  Seeds out{saved([&](Sink& s) { save_ciphertexts(s, x, note); })};
  x[1].seed.reset();
  out.push_back(saved([&](Sink& s) { save_ciphertexts(s, x, note); }));
  return out;
}

Seeds server_key_files() {
  test::TfheWorld& w = tfhe_world();
  tfhe::ServerKeys with_public = *w.keys;
  with_public.public_key = std::make_shared<const tfhe::PublicKey>(
      tfhe::make_public_key(*w.context, w.secret, w.random));
  return {saved([&](Sink& s) { save_keys(s, *w.context, *w.keys); }),
          saved([&](Sink& s) { save_keys(s, *w.context, with_public); })};
}

Seeds tfhe_secret_files() { return secret_files_of(tfhe_world().secret); }

// Bundles of one part and of two.
Seeds bundle_files(io::Scheme scheme, const std::string& hash, const rlwe::KeyId& key,
                   const std::function<void(Sink&)>& save) {
  const std::vector<io::BundlePart> parts{
      {"keys", save}, {"public", [&](Sink& s) { save_params(s, *ckks().params); }}};
  Seeds out;
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}}) {
    out.push_back(saved(
        [&](Sink& s) { io::save_bundle(s, scheme, hash, key, std::span(parts).first(count)); }));
  }
  return out;
}

Seeds ckks_bundles() {
  FileWorld& w = ckks();
  const auto keys = w.keys({{{rlwe::KeyKind::DenseToSparse, 1}, 0}});
  return bundle_files(io::Scheme::Ckks, w.params->hash(), keys->id(),
                      [&](Sink& s) { save_keys(s, w.constants(), w.queue(), *keys); });
}

Seeds tfhe_bundles() {
  test::TfheWorld& w = tfhe_world();
  return bundle_files(io::Scheme::Tfhe, w.params->hash(), w.keys->id,
                      [&](Sink& s) { save_keys(s, *w.context, *w.keys); });
}

// Reads bundles as the Python package does, with a part that may be any file.
void load_bundle(Source& source, io::Scheme scheme) {
  io::BundleReader reader(source, scheme);
  for (const std::string& name : reader.names()) {
    reader.next([&](Source& part) {
      if (name == "public") {
        io::load_params(part);
      } else if (scheme == io::Scheme::Tfhe) {
        io::load_server_keys(part, *tfhe_world().context);
      } else {
        io::load_keys(part, ckks().constants(), ckks().queue());
      }
    });
  }
  reader.finish();
}

Seeds switch_key_files() {
  FileWorld& w = ckks();
  const auto inner = switching::generate_secret(both().params(), w.random);
  const switching::MatvecShape shape{1, 512};
  Seeds out;
  for (const std::size_t products : {0, 1}) {
    const auto keys =
        switching::make_switch_keys(both(), w.secret, inner, w.random, {&shape, products});
    out.push_back(saved([&](Sink& s) { save_keys(s, both(), *keys); }));
  }
  return out;
}

std::vector<Parser> make_parsers() {
  return {
      {"ckks_params", true, [](Source& s) { io::load_params(s); }, params_files},
      {"ckks_params_text", false, parse_ckks_text, ckks_texts},
      {"ckks_ciphertexts", true, [](Source& s) { io::load_ciphertexts(s, ckks().context); },
       ciphertext_files},
      {"ckks_keys", true, [](Source& s) { io::load_keys(s, ckks().constants(), ckks().queue()); },
       key_files},
      {"ckks_public_key", true,
       [](Source& s) { io::load_public_key(s, ckks().constants(), ckks().queue()); },
       public_key_files},
      {"ckks_secret_key", true, parse_ckks_secret, secret_files},
      {"tfhe_params", true, [](Source& s) { io::load_tfhe_params(s); }, tfhe_params_files},
      {"tfhe_params_text", false, parse_tfhe_text, tfhe_texts},
      {"tfhe_ciphertexts", true,
       [](Source& s) { io::load_tfhe_ciphertexts(s, tfhe_world().context); }, tfhe_ciphertext_files,
       4 * 1025},
      {"tfhe_keys", true, [](Source& s) { io::load_server_keys(s, *tfhe_world().context); },
       server_key_files},
      {"tfhe_secret_key", true, parse_tfhe_secret, tfhe_secret_files},
      {"switch_keys", true, [](Source& s) { io::load_switch_keys(s, both()); }, switch_key_files},
      {"ckks_bundle", true, [](Source& s) { load_bundle(s, io::Scheme::Ckks); }, ckks_bundles},
      {"tfhe_bundle", true, [](Source& s) { load_bundle(s, io::Scheme::Tfhe); }, tfhe_bundles},
      {"ckks_answers", true, [](Source& s) { io::load_ciphertexts(s, ckks().context); },
       answer_files},
      {"header", true, [](Source& s) { io::inspect(s); }, params_files},
      {"tuning_table", false, parse_tuning, tunings},
      {"note", false, parse_note, notes},
  };
}

}  // namespace

const std::vector<Parser>& parsers() {
  static const std::vector<Parser> kParsers = make_parsers();
  return kParsers;
}

const Parser& parser(const std::string& name) {
  for (const Parser& p : parsers()) {
    if (p.name == name) return p;
  }
  throw std::out_of_range("no parser is called " + name);
}

}  // namespace latticino::fuzz
