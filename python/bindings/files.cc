// Saving and loading, to files and to bytes.
#include "files.h"

#include "client.h"
#include "io/final_ciphertext.h"

namespace latticino::python {
namespace {

using Keys = std::shared_ptr<rlwe::EvaluationKeys>;
using Ciphertexts = std::vector<ckks::Ciphertext>;

// The third value says whether they are final answers.
std::tuple<Ciphertexts, std::string, bool> loaded(io::Source& source, const ContextPtr& context) {
  auto r = io::load_ciphertexts(source, context);
  return {std::move(r.ciphertexts), std::move(r.note), r.final};
}

void bind_final_answers(nb::module_& m) {
  m.def(
      "ciphertexts_to_final_bytes",
      [](const Ciphertexts& x, const std::string& note, std::uint64_t factor, int shift_b,
         int shift_a, nb::handle sign, std::uint32_t version) {
        return bytes_of(sign, {}, [&](io::Sink& sink) {
          io::save_final(sink, x, note, {factor, shift_b, shift_a}, version);
        });
      },
      "ciphertexts"_a, "note"_a, "factor"_a, "shift_b"_a, "shift_a"_a, "sign"_a.none() = nb::none(),
      "version"_a = io::kFinalVersion,
      "Ciphertexts at level 0, times `factor`, without so many low bits of both parts.");
}

void bind_key_files(nb::module_& m) {
  m.def(
      "save_keys",
      [](const std::string& path, const ContextPtr& c, const Keys& keys, nb::handle sign,
         nb::handle progress) {
        write_signed(
            path, sign,
            [&](io::Sink& sink) { io::save_keys(sink, c->constants(), c->queue(), *keys); },
            progress);
      },
      "path"_a, "context"_a, "keys"_a, "sign"_a.none() = nb::none(),
      "progress"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "load_keys",
      [](const std::string& path, const ContextPtr& c, nb::handle verify, nb::handle progress) {
        VerifiedFile source(path, verify, progress);
        return io::load_keys(source, c->constants(), c->queue());
      },
      "path"_a, "context"_a, "verify"_a.none() = nb::none(), "progress"_a.none() = nb::none(),
      ReleaseGil());
  m.def(
      "save_public_key",
      [](const std::string& path, const ContextPtr& c, const rlwe::PublicKey& key,
         nb::handle sign) {
        write_signed(path, sign, [&](io::Sink& sink) {
          io::save_public_key(sink, c->constants(), c->queue(), key);
        });
      },
      "path"_a, "context"_a, "key"_a, "sign"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "load_public_key",
      [](const std::string& path, const ContextPtr& c, nb::handle verify) {
        VerifiedFile source(path, verify);
        return std::make_shared<rlwe::PublicKey>(
            io::load_public_key(source, c->constants(), c->queue()));
      },
      "path"_a, "context"_a, "verify"_a.none() = nb::none(), ReleaseGil());
  bind_secret_files<Client, ckks::Context>(m, "", &io::load_secret_key, io::Scheme::Ckks);
}

}  // namespace

void bind_files(nb::module_& m) {
  bind_ciphertext_files<ckks::Ciphertext, ckks::Context>(m, "", &loaded);
  bind_final_answers(m);
  bind_key_files(m);
  bind_params_files<Params>(m, "", &io::load_params);
  m.def(
      "file_scheme",
      [](const std::string& path) {
        io::FileSource source(path);
        return std::string(io::name(io::inspect(source).scheme));
      },
      "path"_a, "The scheme of what a file holds, from its header alone.", ReleaseGil());
  m.def(
      "file_type",
      [](const std::string& path) {
        io::FileSource source(path);
        return std::string(io::name(io::inspect(source).type));
      },
      "path"_a, "What a file holds, from its header alone.", ReleaseGil());
  m.def(
      "bytes_type",
      [](const nb::bytes& bytes) {
        io::MemorySource source({static_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
        return std::string(io::name(io::inspect(source).type));
      },
      "data"_a, "What the bytes of a file hold, from its header alone.");
}

}  // namespace latticino::python
