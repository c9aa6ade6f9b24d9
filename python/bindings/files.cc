// Saving and loading, to files and to bytes.
#include "files.h"

#include "client.h"
#include "io/files.h"

namespace latticino::python {
namespace {

using Keys = std::shared_ptr<rlwe::EvaluationKeys>;
using Ciphertexts = std::vector<ckks::Ciphertext>;

std::pair<Ciphertexts, std::string> loaded(io::Source& source, const ContextPtr& context) {
  auto r = io::load_ciphertexts(source, context);
  return {std::move(r.ciphertexts), std::move(r.note)};
}

void bind_ciphertext_files(nb::module_& m) {
  m.def(
      "save_ciphertexts",
      [](const std::string& path, const Ciphertexts& x, const std::string& note) {
        io::write_file(path, [&](io::Sink& sink) { io::save_ciphertexts(sink, x, note); });
      },
      "path"_a, "ciphertexts"_a, "note"_a, ReleaseGil());
  m.def(
      "load_ciphertexts",
      [](const std::string& path, const ContextPtr& context) {
        io::FileSource source(path);
        return loaded(source, context);
      },
      "path"_a, "context"_a, ReleaseGil());
  m.def(
      "ciphertexts_to_bytes",
      [](const Ciphertexts& x, const std::string& note) {
        io::MemorySink sink;
        {
          const nb::gil_scoped_release release;
          io::save_ciphertexts(sink, x, note);
        }
        return as_bytes(sink);
      },
      "ciphertexts"_a, "note"_a);
  m.def(
      "ciphertexts_from_bytes",
      [](const nb::bytes& bytes, const ContextPtr& context) {
        auto source = from_bytes(bytes);
        const nb::gil_scoped_release release;  // the caller keeps the bytes
        return loaded(source, context);
      },
      "data"_a, "context"_a);
}

void bind_key_files(nb::module_& m) {
  m.def(
      "save_keys",
      [](const std::string& path, const ContextPtr& c, const Keys& keys) {
        io::write_file(path, [&](io::Sink& sink) {
          io::save_keys(sink, c->constants(), c->queue(), *keys);
        });
      },
      "path"_a, "context"_a, "keys"_a, ReleaseGil());
  m.def(
      "load_keys",
      [](const std::string& path, const ContextPtr& c) {
        io::FileSource source(path);
        return io::load_keys(source, c->constants(), c->queue());
      },
      "path"_a, "context"_a, ReleaseGil());
  m.def(
      "save_public_key",
      [](const std::string& path, const ContextPtr& c, const rlwe::PublicKey& key) {
        io::write_file(path, [&](io::Sink& sink) {
          io::save_public_key(sink, c->constants(), c->queue(), key);
        });
      },
      "path"_a, "context"_a, "key"_a, ReleaseGil());
  m.def(
      "load_public_key",
      [](const std::string& path, const ContextPtr& c) {
        io::FileSource source(path);
        return std::make_shared<rlwe::PublicKey>(io::load_public_key(source, c->constants(), c->queue()));
      },
      "path"_a, "context"_a, ReleaseGil());
  m.def(
      "save_secret_key",
      [](const std::string& path, const Client& client) {
        io::save_secret_key(path, client.secret());
      },
      "path"_a, "client"_a, ReleaseGil());
  m.def(
      "load_secret_key",
      [](const std::string& path, const ContextPtr& c) {
        io::FileSource source(path);
        return std::make_shared<Client>(c, io::load_secret_key(source, c->shared_params()));
      },
      "path"_a, "context"_a, ReleaseGil());
}

}  // namespace

void bind_files(nb::module_& m) {
  bind_ciphertext_files(m);
  bind_key_files(m);
  m.def(
      "save_params",
      [](const std::string& path, const ParamsPtr& params) {
        io::write_file(path, [&](io::Sink& sink) { io::save_params(sink, *params); });
      },
      "path"_a, "params"_a, ReleaseGil());
  m.def(
      "load_params",
      [](const std::string& path) {
        io::FileSource source(path);
        return io::load_params(source);
      },
      "path"_a, ReleaseGil());
}

}  // namespace latticino::python
