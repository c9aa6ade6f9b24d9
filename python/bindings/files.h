// Code for the files of both schemes. It is bound once for each scheme, under the scheme's prefix.
#pragma once

#include <nanobind/stl/tuple.h>

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "io/files.h"
#include "io/secret_stream.h"
#include "io/tfhe_files.h"
#include "math/errors.h"
#include "signing.h"

namespace latticino::python {

// Writes the bytes of a file into memory that Python then owns. A first pass finds out how many
// there are.
template <class Save>
nb::bytes bytes_of(nb::handle sign, nb::handle progress, const Save& save) {
  const io::Signer signer = signer_of(sign);
  io::LengthSink length;
  length.signer = signer;
  {
    const Released release;
    save(length);
  }
  auto out = nb::steal<nb::bytes>(
      PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(length.bytes())));
  if (!out.is_valid()) nb::raise_python_error();
  io::SpanSink sink({reinterpret_cast<std::uint8_t*>(PyBytes_AsString(out.ptr())), out.size()});
  sink.signer = signer;
  sink.progress = byte_count(progress);
  {
    const Released release;
    save(sink);
  }
  if (sink.left() != 0) {
    throw FileError("io.write", std::to_string(sink.left()) + " bytes too few",
                    "the announced length", "report this as a bug");
  }
  return out;
}

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
  m.def((prefix + "params_to_bytes").c_str(),
        [](const std::shared_ptr<const Params>& params) {
          return bytes_of({}, {}, [&](io::Sink& sink) { io::save_params(sink, *params); });
        },
        "params"_a);
  m.def((prefix + "params_from_bytes").c_str(),
        [load](const nb::bytes& bytes) {
          io::MemorySource source({static_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
          const Released release;  // the caller keeps the bytes
          return load(source);
        },
        "data"_a);
}

// scrypt's log2 N, r, p and salt.
using Kdf = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, nb::bytes>;

inline crypto::SealKey seal_key(const nb::bytes& key) {
  if (key.size() != crypto::kSealKeyBytes) {
    throw ValueError("save_secret_key", std::to_string(key.size()) + " bytes of key", "64",
                     "derive it with latticino.files.secret_files");
  }
  return crypto::SealKey(static_cast<const std::uint8_t*>(key.data()), crypto::kSealKeyBytes);
}

inline io::Scrypt as_scrypt(const Kdf& kdf) {
  const auto& [log_n, r, p, salt] = kdf;
  io::Scrypt out{log_n, r, p, {}};
  if (salt.size() != out.salt.size()) {
    throw ValueError("save_secret_key", std::to_string(salt.size()) + " bytes of salt", "32",
                     "draw it with os.urandom");
  }
  std::memcpy(out.salt.data(), salt.data(), out.salt.size());
  return out;
}

template <class Client, class Context, class SecretKey, class Params>
void bind_secret_files(nb::module_& m, const std::string& prefix,
                       SecretKey (*load)(io::Source&, std::shared_ptr<const Params>,
                                         std::span<const std::uint8_t>),
                       io::Scheme scheme) {
  m.def((prefix + "save_secret_key").c_str(),
        [](const std::string& path, const Client& client, const std::optional<Kdf>& kdf,
           const nb::bytes& key) {
          if (!kdf) return io::save_secret_key(path, client.secret());
          const io::SecretSeal seal{as_scrypt(*kdf), seal_key(key)};
          const nb::gil_scoped_release release;  // the caller keeps the bytes alive
          io::save_secret_key(path, client.secret(), &seal);
        },
        "path"_a, "client"_a, "kdf"_a = nb::none(), "key"_a = nb::bytes("", 0));
  m.def((prefix + "secret_key_kdf").c_str(),
        [scheme](const std::string& path) -> std::optional<Kdf> {
          io::SecretFileSource source(path);
          const std::optional<io::Scrypt> kdf = io::secret_key_seal(source, scheme);
          if (!kdf) return std::nullopt;
          return Kdf{kdf->log_n, kdf->r, kdf->p, nb::bytes(kdf->salt.data(), kdf->salt.size())};
        },
        "path"_a, "Costs (log2 N, r, p) and salt of a secret key's passphrase; None without one.");
  m.def((prefix + "load_secret_key").c_str(),
        [load](const std::string& path, const std::shared_ptr<const Context>& c,
               const nb::bytes& key) {
          const std::span given(static_cast<const std::uint8_t*>(key.data()), key.size());
          const nb::gil_scoped_release release;
          io::SecretFileSource source(path);
          return std::make_shared<Client>(c, load(source, c->shared_params(), given));
        },
        "path"_a, "context"_a, "key"_a = nb::bytes("", 0));
}

// `version`: the format version that the content of the note needs. Notes of TFHE only need the
// first.
inline void save_with_note(io::Sink& sink, const std::vector<ckks::Ciphertext>& x,
                           const std::string& note, std::uint32_t version) {
  io::save_ciphertexts(sink, x, note, version);
}
inline void save_with_note(io::Sink& sink, const std::vector<tfhe::Ciphertext>& x,
                           const std::string& note, std::uint32_t version) {
  if (version != 1) {
    throw ValueError("save_ciphertext", "format version " + std::to_string(version) + " for TFHE",
                     "version 1", "leave it out");
  }
  io::save_ciphertexts(sink, x, note);
}

// `load` returns ciphertexts, their note, and the other content of the file.
template <class Ciphertext, class Context, class Loaded>
void bind_ciphertext_files(nb::module_& m, const std::string& prefix,
                           Loaded (*load)(io::Source&, const std::shared_ptr<const Context>&)) {
  using Ciphertexts = std::vector<Ciphertext>;
  using ContextPtr = std::shared_ptr<const Context>;
  m.def((prefix + "save_ciphertexts").c_str(),
        [](const std::string& path, const Ciphertexts& x, const std::string& note, nb::handle sign,
           std::uint32_t version) {
          write_signed(path, sign, [&](io::Sink& sink) { save_with_note(sink, x, note, version); });
        },
        "path"_a, "ciphertexts"_a, "note"_a, "sign"_a.none() = nb::none(), "version"_a = 1,
        ReleaseGil());
  m.def((prefix + "load_ciphertexts").c_str(),
        [load](const std::string& path, const ContextPtr& context, nb::handle verify) {
          VerifiedFile source(path, verify);
          return load(source, context);
        },
        "path"_a, "context"_a, "verify"_a.none() = nb::none(), ReleaseGil());
  m.def((prefix + "ciphertexts_to_bytes").c_str(),
        [](const Ciphertexts& x, const std::string& note, nb::handle sign, std::uint32_t version) {
          io::MemorySink sink;
          sink.signer = signer_of(sign);
          {
            const Released release;
            save_with_note(sink, x, note, version);
          }
          return nb::bytes(sink.bytes().data(), sink.bytes().size());
        },
        "ciphertexts"_a, "note"_a, "sign"_a.none() = nb::none(), "version"_a = 1);
  m.def((prefix + "ciphertexts_from_bytes").c_str(),
        [load](const nb::bytes& bytes, const ContextPtr& context, nb::handle verify) {
          io::MemorySource source({static_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
          source.verifier = verifier_of(verify);
          const Released release;  // the caller keeps the bytes alive
          return load(source, context);
        },
        "data"_a, "context"_a, "verify"_a.none() = nb::none());
}

}  // namespace latticino::python
