// Saving and loading of TFHE's objects, to files and to bytes.
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
         const std::shared_ptr<tfhe::ServerKeys>& keys, nb::handle sign, nb::handle progress) {
        write_signed(
            path, sign, [&](io::Sink& sink) { io::save_keys(sink, *c, *keys); }, progress);
      },
      "path"_a, "context"_a, "keys"_a, "sign"_a.none() = nb::none(),
      "progress"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "tfhe_load_keys",
      [](const std::string& path, const TfheContextPtr& c, nb::handle verify, nb::handle progress) {
        VerifiedFile source(path, verify, progress);
        return io::load_server_keys(source, *c);
      },
      "path"_a, "context"_a, "verify"_a.none() = nb::none(), "progress"_a.none() = nb::none(),
      ReleaseGil());
  bind_secret_files<TfheClient, tfhe::Context>(m, "tfhe_", &io::load_tfhe_secret_key,
                                               io::Scheme::Tfhe);
}

}  // namespace

void bind_tfhe_files(nb::module_& m) {
  bind_tfhe_key_files(m);
  bind_params_files<TfheParams>(m, "tfhe_", &io::load_tfhe_params);
  bind_ciphertext_files<tfhe::Ciphertext, tfhe::Context>(m, "tfhe_", &loaded);
}

}  // namespace latticino::python
