// The two roles: Client holds the secret key, EvaluationKeys is all that a server gets.
#include "session/keys/dry_run.h"

#include "client.h"

namespace latticino::python {
namespace {

using ckks::Ciphertext;
using session::KeyMaker;

void bind_public_keys(nb::module_& m) {
  nb::class_<rlwe::KeyLabel>(m, "KeyLabel",
                             "Which evaluation key: its kind, Galois element and band.")
      .def("__repr__", &rlwe::KeyLabel::str)
      .def("__eq__", [](const rlwe::KeyLabel& a, const rlwe::KeyLabel& b) { return a == b; })
      .def("__hash__", [](const rlwe::KeyLabel& a) {
        return static_cast<std::size_t>(a.kind) * 0x9E3779B97F4A7C15ull +
               (static_cast<std::size_t>(a.band) << 32) + a.galois;
      });
  m.def(
      "key_label",
      [](const std::string& text, std::uint32_t galois, int band) -> std::optional<rlwe::KeyLabel> {
        using enum rlwe::KeyKind;
        for (const rlwe::KeyKind kind :
             {Relinearize, Galois, DenseToSparse, SparseToDense, OverRaise}) {
          const rlwe::KeyLabel label{kind, galois, band};
          if (label.str() == text) return label;
        }
        return std::nullopt;
      },
      "text"_a, "galois"_a, "band"_a,
      "The label with this text, Galois element and band; None if there is none.");
  // NOLINTNEXTLINE(bugprone-unused-raii): making the object registers the class.
  nb::class_<rlwe::KeySource>(m, "KeySource", "Where an evaluator finds its keys.");
  nb::class_<rlwe::EvaluationKeys, rlwe::KeySource>(m, "EvaluationKeys",
                                                    "What a server knows: it cannot decrypt.")
      .def("has", &rlwe::EvaluationKeys::has, "label"_a, "level"_a)
      .def_prop_ro("id", [](const rlwe::EvaluationKeys& k) { return k.id().str(); })
      .def_prop_ro("params_hash", &rlwe::EvaluationKeys::params_hash)
      .def_prop_ro("labels", &rlwe::EvaluationKeys::labels)
      .def_prop_ro("bytes", &rlwe::EvaluationKeys::bytes);
  nb::class_<session::DryRun>(m, "DryRun", "A context without data, and what programs on it need.")
      .def(
          "__init__",
          [](session::DryRun* self, const ParamsPtr& params) {
            new (self) session::DryRun(ckks::Context::create_dry(params));
          },
          "params"_a, ReleaseGil())
      .def_prop_ro("context", &session::DryRun::context)
      .def_prop_ro("evaluator", &session::DryRun::evaluator, "It has every key.")
      .def_prop_ro("request",
                   [](const session::DryRun& run) {
                     std::vector<std::pair<rlwe::KeyLabel, int>> out;
                     for (const auto& [label, level] : run.request())
                       out.emplace_back(label, level);
                     return out;
                   })
      .def_prop_ro("key_bytes", &session::DryRun::key_bytes);
  m.def(
      "key_bytes",
      [](const ContextPtr& context, const rlwe::KeyLabel& label, int level) {
        return rlwe::key_shape(context->constants(), label, level).bytes(context->params().n());
      },
      "context"_a, "label"_a, "level"_a);
  nb::class_<rlwe::PublicKey>(m, "PublicKey", "Encrypts without the secret.")
      .def_prop_ro("id", [](const rlwe::PublicKey& k) { return k.id.str(); });
  m.def("encrypt_public", &session::encrypt_public, "key"_a, "plaintext"_a, ReleaseGil());
}

void bind_client(nb::module_& m) {
  nb::class_<Client>(m, "Client", "Holds a secret key.")
      .def(nb::init<ContextPtr>(), "context"_a, ReleaseGil())
      .def_prop_ro("key_id", &Client::key_id)
      .def(
          "encrypt",
          [](Client& client, const std::vector<ckks::Plaintext>& batch) {
            return client.encrypt(batch);
          },
          "batch"_a, ReleaseGil())
      .def(
          "decrypt",
          [](const Client& client, const std::vector<Ciphertext>& batch) {
            std::vector<std::vector<ckks::Complex>> values;
            {
              const Released release;
              values = client.decrypt(batch);
            }
            std::vector<ComplexArray> out;
            out.reserve(values.size());
            for (std::vector<ckks::Complex>& v : values) out.push_back(to_numpy(std::move(v)));
            return out;
          },
          "batch"_a)
      .def(
          "decrypt_for_sharing",
          [](Client& client, const Ciphertext& x, double noise_bound, std::uint64_t queries,
             int bits) {
            ckks::SharedSlots r;
            {
              const Released release;
              r = client.decrypt_for_sharing(x, {noise_bound, queries, bits});
            }
            return nb::make_tuple(to_numpy(std::move(r.values)), r.sigma, r.bits_lost);
          },
          "x"_a, "noise_bound"_a, "queries"_a, "statistical_bits"_a)
      .def("public_key", &Client::public_key, ReleaseGil());
  nb::class_<KeyMaker>(m, "KeyMaker", "Fills a bundle of evaluation keys, key by key.")
      .def(nb::init<Client&>(), "client"_a, nb::keep_alive<1, 2>())
      .def("make", &KeyMaker::make, "label"_a, "level"_a, ReleaseGil())
      .def_prop_ro("keys", &KeyMaker::keys);
}

}  // namespace

void bind_keys(nb::module_& m) {
  bind_public_keys(m);
  bind_client(m);
}

}  // namespace latticino::python
