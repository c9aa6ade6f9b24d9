// What the files of both schemes share: bound once, under the scheme's prefix.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "io/files.h"
#include "io/tfhe_files.h"
#include "signing.h"

namespace latticino::python {

template <class Params>
void bind_params_files(nb::module_& m, const std::string& prefix,
                       std::shared_ptr<const Params> (*load)(io::Source&)) {
  m.def((prefix + "save_params").c_str(),
        [](const std::string& path, const std::shared_ptr<const Params>& params, nb::handle sign) {
          write_signed(path, sign, [&](io::Sink& sink) { io::save_params(sink, *params); });
        },
        "path"_a, "params"_a, "sign"_a.none() = nb::none(), ReleaseGil());
  m.def((prefix + "load_params").c_str(),
        [load](const std::string& path, nb::handle verify) {
          VerifiedFile source(path, verify);
          return load(source);
        },
        "path"_a, "verify"_a.none() = nb::none(), ReleaseGil());
}

template <class Client, class Context, class SecretKey, class Params>
void bind_secret_files(nb::module_& m, const std::string& prefix,
                       SecretKey (*load)(io::Source&, std::shared_ptr<const Params>)) {
  m.def((prefix + "save_secret_key").c_str(),
        [](const std::string& path, const Client& client) {
          io::save_secret_key(path, client.secret());
        },
        "path"_a, "client"_a, ReleaseGil());
  m.def((prefix + "load_secret_key").c_str(),
        [load](const std::string& path, const std::shared_ptr<const Context>& c) {
          io::FileSource source(path);
          return std::make_shared<Client>(c, load(source, c->shared_params()));
        },
        "path"_a, "context"_a, ReleaseGil());
}

// Notes of CKKS ciphertexts state the range of their values.
inline void save_with_note(io::Sink& sink, const std::vector<ckks::Ciphertext>& x,
                           const std::string& note) {
  io::save_ciphertexts(sink, x, note, 3);
}
inline void save_with_note(io::Sink& sink, const std::vector<tfhe::Ciphertext>& x,
                           const std::string& note) {
  io::save_ciphertexts(sink, x, note);
}

// `load` gives ciphertexts and their note.
template <class Ciphertext, class Context>
void bind_ciphertext_files(nb::module_& m, const std::string& prefix,
                           std::pair<std::vector<Ciphertext>, std::string> (*load)(
                               io::Source&, const std::shared_ptr<const Context>&)) {
  using Ciphertexts = std::vector<Ciphertext>;
  using ContextPtr = std::shared_ptr<const Context>;
  m.def((prefix + "save_ciphertexts").c_str(),
        [](const std::string& path, const Ciphertexts& x, const std::string& note, nb::handle sign) {
          write_signed(path, sign, [&](io::Sink& sink) { save_with_note(sink, x, note); });
        },
        "path"_a, "ciphertexts"_a, "note"_a, "sign"_a.none() = nb::none(), ReleaseGil());
  m.def((prefix + "load_ciphertexts").c_str(),
        [load](const std::string& path, const ContextPtr& context, nb::handle verify) {
          VerifiedFile source(path, verify);
          return load(source, context);
        },
        "path"_a, "context"_a, "verify"_a.none() = nb::none(), ReleaseGil());
  m.def((prefix + "ciphertexts_to_bytes").c_str(),
        [](const Ciphertexts& x, const std::string& note, nb::handle sign) {
          io::MemorySink sink;
          sink.signer = signer_of(sign);
          {
            const Released release;
            save_with_note(sink, x, note);
          }
          return nb::bytes(sink.bytes().data(), sink.bytes().size());
        },
        "ciphertexts"_a, "note"_a, "sign"_a.none() = nb::none());
  m.def((prefix + "ciphertexts_from_bytes").c_str(),
        [load](const nb::bytes& bytes, const ContextPtr& context, nb::handle verify) {
          io::MemorySource source({static_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
          source.verifier = verifier_of(verify);
          const Released release;  // the caller keeps the bytes
          return load(source, context);
        },
        "data"_a, "context"_a, "verify"_a.none() = nb::none());
}

}  // namespace latticino::python
