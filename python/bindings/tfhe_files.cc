// Saving and loading of TFHE's objects, to files and to bytes.
#include "io/tfhe_files.h"
#include "files.h"
#include "tfhe.h"

namespace latticino::python {
namespace {

std::pair<TfheBatches, std::string> loaded(io::Source& source, const TfheContextPtr& context) {
  auto r = io::load_tfhe_ciphertexts(source, context);
  return {std::move(r.batches), std::move(r.note)};
}

void bind_tfhe_key_files(nb::module_& m) {
  m.def(
      "tfhe_save_keys",
      [](const std::string& path, const TfheContextPtr& c,
         const std::shared_ptr<tfhe::ServerKeys>& keys) {
        io::write_file(path, [&](io::Sink& sink) { io::save_keys(sink, *c, *keys); });
      },
      "path"_a, "context"_a, "keys"_a, ReleaseGil());
  m.def(
      "tfhe_load_keys",
      [](const std::string& path, const TfheContextPtr& c) {
        io::FileSource source(path);
        return io::load_server_keys(source, *c);
      },
      "path"_a, "context"_a, ReleaseGil());
  m.def(
      "tfhe_save_secret_key",
      [](const std::string& path, const TfheClient& client) {
        io::save_secret_key(path, client.secret());
      },
      "path"_a, "client"_a, ReleaseGil());
  m.def(
      "tfhe_load_secret_key",
      [](const std::string& path, const TfheContextPtr& c) {
        io::FileSource source(path);
        return std::make_shared<TfheClient>(c,
                                            io::load_tfhe_secret_key(source, c->shared_params()));
      },
      "path"_a, "context"_a, ReleaseGil());
}

}  // namespace

void bind_tfhe_files(nb::module_& m) {
  bind_tfhe_key_files(m);
  m.def(
      "tfhe_save_params",
      [](const std::string& path, const TfheParamsPtr& params) {
        io::write_file(path, [&](io::Sink& sink) { io::save_params(sink, *params); });
      },
      "path"_a, "params"_a, ReleaseGil());
  m.def(
      "tfhe_load_params",
      [](const std::string& path) {
        io::FileSource source(path);
        return io::load_tfhe_params(source);
      },
      "path"_a, ReleaseGil());
  m.def(
      "tfhe_save_ciphertexts",
      [](const std::string& path, const TfheBatches& x, const std::string& note) {
        io::write_file(path, [&](io::Sink& sink) { io::save_ciphertexts(sink, x, note); });
      },
      "path"_a, "x"_a, "note"_a, ReleaseGil());
  m.def(
      "tfhe_load_ciphertexts",
      [](const std::string& path, const TfheContextPtr& context) {
        io::FileSource source(path);
        return loaded(source, context);
      },
      "path"_a, "context"_a, ReleaseGil());
  m.def(
      "tfhe_ciphertexts_to_bytes",
      [](const TfheBatches& x, const std::string& note) {
        io::MemorySink sink;
        {
          const nb::gil_scoped_release release;
          io::save_ciphertexts(sink, x, note);
        }
        return as_bytes(sink);
      },
      "x"_a, "note"_a);
  m.def(
      "tfhe_ciphertexts_from_bytes",
      [](const nb::bytes& bytes, const TfheContextPtr& context) {
        auto source = from_bytes(bytes);
        const nb::gil_scoped_release release;  // the caller keeps the bytes
        return loaded(source, context);
      },
      "data"_a, "context"_a);
  m.def(
      "file_scheme",
      [](const std::string& path) {
        io::FileSource source(path);
        return std::string(io::name(io::inspect(source).scheme));
      },
      "path"_a, "The scheme of what a file holds, from its header alone.", ReleaseGil());
}

}  // namespace latticino::python
