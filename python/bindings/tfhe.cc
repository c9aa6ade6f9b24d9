// Data and roles of TFHE: parameters, contexts, batches, the client.
#include "tfhe.h"

#include "context.h"
#include "session/tfhe/arithmetic.h"

namespace latticino::python {
namespace {

using tfhe::Ciphertext;

void bind_tfhe_params(nb::module_& m) {
  nb::class_<TfheParams>(m, "TfheParams", "Checked, immutable parameters of TFHE.")
      .def_prop_ro("name", &TfheParams::name)
      .def_prop_ro("hash", &TfheParams::hash)
      .def_prop_ro("n", &TfheParams::n)
      .def_prop_ro("lwe_dimension", &TfheParams::lwe_dimension)
      .def_prop_ro("glwe_dimension", &TfheParams::glwe_dimension)
      .def_prop_ro("big_dimension", &TfheParams::big_dimension)
      .def_prop_ro("booleans", &TfheParams::booleans)
      .def_prop_ro("message_bits", [](const TfheParams& p) { return p.literal().message_bits; })
      .def_prop_ro("carry_bits", [](const TfheParams& p) { return p.literal().carry_bits; })
      .def_prop_ro("log_failure", [](const TfheParams& p) { return p.log_failure(); })
      .def(
          "variances",
          [](const TfheParams& p, bool fourier) {
            return std::pair(p.result_variance(fourier), p.switch_variance());
          },
          "fourier"_a,
          "Variances of the result of a bootstrapping, and of key switch plus modulus switch.")
      .def("log_failure_of", &TfheParams::log_failure_of, "result_variance"_a, "switch_variance"_a)
      .def_prop_ro("stated_log_failure",
                   [](const TfheParams& p) { return p.literal().log_failure; })
      .def_prop_ro("security_bits", &TfheParams::security_bits)
      .def_prop_ro("secure",
                   [](const TfheParams& p) {
                     return p.literal().security == ParamsLiteral::Security::Bits128;
                   })
      .def_prop_ro("has_fft64", [](const TfheParams& p) { return p.fourier_refusal().empty(); })
      .def_prop_ro("bootstrap_key_bytes", &TfheParams::bootstrap_key_bytes)
      .def_prop_ro("key_switch_key_bytes", &TfheParams::key_switch_key_bytes)
      .def("canonical_text", &TfheParams::canonical_text)
      .def("explain", &TfheParams::explain);
  m.def("tfhe_preset", &tfhe_preset, "name"_a);
  m.def("tfhe_preset_names", &tfhe_preset_names);
}

void bind_tfhe_arithmetic(nb::module_& m) {
  nb::class_<tfhe::ArithmeticRule>(m, "TfheArithmetic", "Which arithmetic blind rotations take.")
      .def_static(
          "choose",
          [](const TfheParamsPtr& params, const std::string& wanted, const std::string& device,
             int index, int threads, bool simd, const std::string& tuning) {
            return session::arithmetic_rule(*params, wanted, {device, index}, threads, simd,
                                            tuning);
          },
          "params"_a, "wanted"_a, "device"_a, "index"_a, "threads"_a, "simd"_a, "tuning"_a = "",
          ReleaseGil())
      .def_prop_ro("name", &tfhe::ArithmeticRule::name)
      .def_prop_ro("text", &tfhe::ArithmeticRule::text)
      .def(
          "of", [](const tfhe::ArithmeticRule& r, std::uint32_t n) { return tfhe::name(r.of(n)); },
          "count"_a);
}

void bind_tfhe_context(nb::module_& m) {
  nb::class_<tfhe::Context> context(m, "TfheContext", "TFHE parameters on a device.");
  context
      .def_static(
          "create",
          [](const TfheParamsPtr& params, const std::string& device, int index, int threads,
             bool simd, const std::string& tuning, const tfhe::ArithmeticRule& arithmetic,
             bool rerandomize) {
            return tfhe::Context::create(
                params, session::make_queue({device, index}, threads, simd, tuning), arithmetic,
                rerandomize);
          },
          "params"_a, "device"_a, "index"_a, "threads"_a, "simd"_a, "tuning"_a, "arithmetic"_a,
          "rerandomize"_a = false, ReleaseGil())
      .def_static(
          "create_dry",
          [](const TfheParamsPtr& params, const tfhe::ArithmeticRule& arithmetic,
             bool rerandomize) {
            return tfhe::Context::create_dry(params, arithmetic, rerandomize);
          },
          "params"_a, "arithmetic"_a, "rerandomize"_a = false, ReleaseGil())
      .def_prop_ro("params", &tfhe::Context::shared_params)
      .def_prop_ro("arithmetic", [](const tfhe::Context& c) { return c.arithmetic().name(); })
      .def_prop_ro("log_failure", &tfhe::Context::log_failure);
  bind_queue(context);
  nb::class_<tfhe::ServerKeys>(m, "TfheServerKeys", "What a server knows: it cannot decrypt.")
      .def_prop_ro("id", [](const tfhe::ServerKeys& k) { return k.id.str(); })
      .def_ro("params_hash", &tfhe::ServerKeys::params_hash)
      .def_prop_ro("has_public_key",
                   [](const tfhe::ServerKeys& k) { return k.public_key != nullptr; })
      .def("device_bytes", &tfhe::ServerKeys::device_bytes, "context"_a);
  m.def(
      "tfhe_shape_of_keys",
      [](const TfheContextPtr& context) { return tfhe::allocate_used_server_keys(*context); },
      "context"_a,
      "Keys of the right shape without meaning, as after a first bootstrapping: for dry contexts.",
      ReleaseGil());
}

void bind_tfhe_batches(nb::module_& m) {
  nb::class_<Ciphertext>(m, "TfheCiphertext", "A batch of LWE ciphertexts.")
      .def_prop_ro("size", &Ciphertext::size)
      .def_ro("norm2", &Ciphertext::norm2)
      .def_ro("largest", &Ciphertext::largest)
      .def_prop_ro("encoding", [](const Ciphertext& x) { return tfhe::name(x.encoding); })
      .def_prop_ro("key", [](const Ciphertext& x) { return x.key.str(); })
      .def_prop_ro("bytes",
                   [](const Ciphertext& x) {
                     return sizeof(std::uint32_t) * (x.view.dimension + std::size_t{1}) * x.size();
                   })
      .def_prop_ro("log_failure", &session::log_failure_of)
      .def("__repr__", &Ciphertext::str);
  m.def("tfhe_shape_only", &session::tfhe_shape_only, "context"_a, "count"_a, "largest"_a,
        "norm2"_a, "bits"_a, "like"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "tfhe_take",
      [](const TfheBatches& x, const PlaceInput& places) {
        return session::take(x, {places.data(), places.size()});
      },
      "x"_a, "places"_a, ReleaseGil());
  m.def(
      "tfhe_concatenate", [](const std::vector<TfheBatches>& x) { return session::concatenate(x); },
      "x"_a, ReleaseGil());
}

}  // namespace

// For measurements of noise.
static void bind_tfhe_errors(nb::class_<TfheClient>& client) {
  client
      .def(
          "errors",
          [](const TfheClient& client, const Ciphertext& x) {
            std::vector<double> values;
            {
              const Released release;
              values = tfhe::errors(client.secret(), x);
            }
            return to_numpy(std::move(values));
          },
          "x"_a)
      .def(
          "switch_errors",
          [](const TfheClient& client, const tfhe::ServerKeys& keys, const Ciphertext& x) {
            std::vector<double> values;
            {
              const Released release;
              values = tfhe::switch_errors(client.secret(), keys, x);
            }
            return to_numpy(std::move(values));
          },
          "keys"_a, "x"_a);
}

void bind_tfhe(nb::module_& m) {
  bind_tfhe_params(m);
  bind_tfhe_arithmetic(m);
  bind_tfhe_context(m);
  bind_tfhe_batches(m);
  nb::class_<TfheClient> client(m, "TfheClient", "Holds a secret key of TFHE.");
  client.def(nb::init<TfheContextPtr>(), "context"_a, ReleaseGil())
      .def_prop_ro("key_id", &TfheClient::key_id)
      .def(
          "encrypt",
          [](TfheClient& client, const IntegerInput& values, int bits) {
            return client.encrypt(as_span(values), bits);
          },
          "values"_a, "bits"_a, ReleaseGil())
      .def(
          "decrypt",
          [](const TfheClient& client, const TfheBatches& x) {
            std::vector<std::uint64_t> values;
            {
              const Released release;
              values = client.decrypt(x);
            }
            return to_numpy(std::move(values));
          },
          "x"_a)
      .def(
          "server_keys",
          [](TfheClient& client, const nb::object& progress, bool with_public) {
            std::function<void(int, int)> report;
            if (!progress.is_none()) {
              report = [&](int done, int all) {
                nb::gil_scoped_acquire gil;
                progress(done, all);
              };
            }
            const Released release;
            return client.server_keys(report, with_public);
          },
          "progress"_a.none(), "public"_a = false);
  bind_tfhe_errors(client);
}

}  // namespace latticino::python
