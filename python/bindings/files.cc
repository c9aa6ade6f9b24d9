// Saving and loading, to files and to bytes.
#include "files.h"

#include "client.h"

namespace latticino::python {
namespace {

using Keys = std::shared_ptr<rlwe::EvaluationKeys>;
using Ciphertexts = std::vector<ckks::Ciphertext>;

std::pair<Ciphertexts, std::string> loaded(io::Source& source, const ContextPtr& context) {
  auto r = io::load_ciphertexts(source, context);
  return {std::move(r.ciphertexts), std::move(r.note)};
}

void bind_key_files(nb::module_& m) {
  m.def(
      "save_keys",
      [](const std::string& path, const ContextPtr& c, const Keys& keys, nb::handle sign) {
        write_signed(path, sign, [&](io::Sink& sink) {
          io::save_keys(sink, c->constants(), c->queue(), *keys);
        });
      },
      "path"_a, "context"_a, "keys"_a, "sign"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "load_keys",
      [](const std::string& path, const ContextPtr& c, nb::handle verify) {
        VerifiedFile source(path, verify);
        return io::load_keys(source, c->constants(), c->queue());
      },
      "path"_a, "context"_a, "verify"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "save_public_key",
      [](const std::string& path, const ContextPtr& c, const rlwe::PublicKey& key, nb::handle sign) {
        write_signed(path, sign, [&](io::Sink& sink) {
          io::save_public_key(sink, c->constants(), c->queue(), key);
        });
      },
      "path"_a, "context"_a, "key"_a, "sign"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "load_public_key",
      [](const std::string& path, const ContextPtr& c, nb::handle verify) {
        VerifiedFile source(path, verify);
        return std::make_shared<rlwe::PublicKey>(io::load_public_key(source, c->constants(), c->queue()));
      },
      "path"_a, "context"_a, "verify"_a.none() = nb::none(), ReleaseGil());
  bind_secret_files<Client, ckks::Context>(m, "", &io::load_secret_key, io::Scheme::Ckks);
}

}  // namespace

void bind_files(nb::module_& m) {
  bind_ciphertext_files<ckks::Ciphertext, ckks::Context>(m, "", &loaded);
  bind_key_files(m);
  bind_params_files<Params>(m, "", &io::load_params);
  m.def(
      "file_scheme",
      [](const std::string& path) {
        io::FileSource source(path);
        return std::string(io::name(io::inspect(source).scheme));
      },
      "path"_a, "The scheme of what a file holds, from its header alone.", ReleaseGil());
}

}  // namespace latticino::python
